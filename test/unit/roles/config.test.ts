import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../../src/config.ts';
import { toolchains } from '../../../src/contracts/toolchains.ts';

const folder = mkdtempSync(join(tmpdir(), 'filemill-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(yaml: string): { CONFIG_FILE: string } {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, yaml);
  return { CONFIG_FILE: path };
}

/** The mistakes that are named, one each. */
function mistakesOf(environment: Readonly<Record<string, string>>): string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n  ').slice(1);
  }
  return [];
}

describe('a configuration', () => {
  it('names the step and field of a recipe that is none, and shows no password of it', () => {
    const steps = (option: string) => `[{ name: a, do: protect-pdf, options: { password: hunter2${option} } }]`;
    expect(mistakesOf(file(`{ api: { recipes: { lock: { steps: ${steps(', sides: 2')} } } } }`))).toEqual([
      expect.stringMatching(/^api\.recipes\.lock\.steps\.0\.options\.sides: received 2; expected Step "a": options\.sides/),
    ]);
    const [said = ''] = mistakesOf(file(`{ api: { recipes: { lock: { steps: ${steps('')}, outputs: 7 } } } }`));
    expect(said).toMatch(/^api\.recipes\.lock\.outputs: received 7/);
    expect(mistakesOf(file(`{ api: { recipes: { Lock: { steps: ${steps('')} } } } }`)).join()).not.toContain('hunter2');
    expect(mistakesOf(file(`{ api: { recipes: { lock: { steps: ${steps('')}, may_change: [b.password] } } } }`))).toHaveLength(1);
  });

  it('may be empty', () => {
    const config = loadConfig({});
    expect(config).toMatchObject({ dataDir: resolve('data'), api: { port: 8080, maxFileBytes: 209_715_200 }, log: { level: 'info' } });
    expect(config.worker.slots).toEqual(Object.fromEntries(toolchains.map((pool) => [pool, availableParallelism()])));
  });
  it('takes the environment over the file', () =>
    expect(loadConfig({ ...file('api: {port: 1, host: "::1"}'), PORT: '2' }).api).toMatchObject({ port: 2, host: '::1' }));
  it('takes SETTINGS over the file, group by group, and single variables over both', () => {
    const config = loadConfig({
      ...file('api: {port: 1, host: "::1"}'),
      SETTINGS: '{"api":{"port":2},"nats":{"servers":["a:1"]}}',
      NATS_URL: 'b:2',
    });
    expect([config.api.port, config.api.host, config.nats?.servers]).toEqual([2, '::1', ['b:2']]);
  });
  it('takes an empty variable for none', () => expect(loadConfig({ ...file('api: {port: 1}'), PORT: '' }).api.port).toBe(1));
  it('may be an empty file', () => expect(loadConfig(file('# nothing yet\n')).api.port).toBe(8080));
  it('reads hosts from one variable', () =>
    expect(loadConfig({ ALLOWED_HOSTS: 'a.org, b.org' }).api.allowedHosts).toEqual(['a.org', 'b.org']));
  it('takes one secret for a list of one, and several in their order', () => {
    const [first, second] = ['a'.repeat(32), 'b'.repeat(32)];
    expect(loadConfig({ SECRET_KEY: first }).secret.key).toEqual([first]);
    expect(loadConfig({ SECRET_KEY: `${first}, ${second}` }).secret.key).toEqual([first, second]);
    expect(loadConfig(file(`secret: {key: ${first}}`)).secret.key).toEqual([first]);
    expect(loadConfig(file(`secret: {key: [${first}, ${second}]}`)).secret.key).toEqual([first, second]);
  });
  it('sets one pool and leaves the others as they are', () => {
    const { slots } = loadConfig(file('worker: {slots: {media: 7}}')).worker;
    expect(slots).toMatchObject({ media: 7, image: availableParallelism() });
  });
  it('knows the files by which NATS knows us', () => {
    const { nats } = loadConfig({ NATS_URL: 'a:1', NATS_CREDS: '/a', NATS_CA: '/b', NATS_CERT: '/c', NATS_KEY: '/d' });
    expect(nats).toMatchObject({ credentialsFile: '/a', caFile: '/b', certFile: '/c', keyFile: '/d' });
  });
  it.each([
    ['worker', '{residents: {modelSeconds: 0}}', { residents: { modelSeconds: 0 } }],
    ['controller', '{workerNats: ["b:1"], jobsPerSecond: 0.1, jobsBurst: 1}', { workerNats: ['b:1'], jobsPerSecond: 0.1, jobsBurst: 1 }],
    ['uploads', '{keptMs: 1000}', { keptMs: 1000 }],
  ] as const)('takes the smallest values of %s: %s', (slice, yaml, values) =>
    expect(loadConfig(file(`${slice}: ${yaml}`))[slice]).toMatchObject(values),
  );
  it.each([
    ['worker: {residents: {modelSeconds: -1}}', 'worker.residents.modelSeconds'],
    ['controller: {workerNats: []}', 'controller.workerNats'],
    ['controller: {jobsPerSecond: 0}', 'controller.jobsPerSecond'],
    ['controller: {jobsBurst: 0}', 'controller.jobsBurst'],
    ['uploads: {keptMs: 999}', 'uploads.keptMs'],
  ])('refuses what is smaller: %s', (yaml, setting) =>
    expect(mistakesOf(file(yaml)).map((mistake) => mistake.split(':')[0])).toEqual([setting]),
  );
  it('cannot be changed afterwards', () => expect(Object.isFrozen(loadConfig({}))).toBe(true));
});

describe('a mistake', () => {
  const cases: Record<string, [Readonly<Record<string, string>>, string]> = {
    'in SETTINGS that are none': [{ SETTINGS: 'a secret, perhaps' }, 'SETTINGS: it is not a group of settings in YAML or JSON'],
    'in a number is named with its bounds': [{ PORT: 'abc' }, 'PORT, api.port: received "abc"; expected a whole number from 0 to 65535'],
    'of being out of bounds is named with them': [
      { PORT: '70000' },
      'PORT, api.port: received "70000"; expected a whole number from 0 to 65535',
    ],
    'in a choice is named with all choices': [
      { LOG_LEVEL: 'loud' },
      'LOG_LEVEL, log.level: received "loud"; expected one of trace, debug, info, warn, error, silent',
    ],
    'in a URL is named': [
      { PUBLIC_URL: 'ftp://a.org' },
      'PUBLIC_URL, api.publicUrl: received "ftp://a.org"; expected an http or https URL',
    ],
    'in a secret does not show it': [
      { SECRET_KEY: 'short' },
      'SECRET_KEY, secret.key: received (hidden); expected text of at least 32 characters',
    ],
    'in one of several secrets tells which': [
      { SECRET_KEY: `${'a'.repeat(32)}, short` },
      'SECRET_KEY, secret.key.1: received (hidden); expected text of at least 32 characters',
    ],
    'of a secret that is there twice does not show it': [
      { SECRET_KEY: `${'a'.repeat(32)},${'a'.repeat(32)}` },
      'SECRET_KEY, secret.key: received (hidden); expected each key once',
    ],
    'in the salt does not show it': [
      { SECRET_SALT: 'short' },
      'SECRET_SALT, secret.salt: received (hidden); expected text of at least 32 characters',
    ],
    'in the file is named by its place': [
      file('worker: {drainMs: long}'),
      'worker.drainMs: received "long"; expected a whole number from 0 on',
    ],
    'in a pool is named by its place': [
      file('worker: {slots: {image: -1}}'),
      'worker.slots.image: received -1; expected a whole number from 0 to 256',
    ],
    'in a switch is named': [file('worker: {withoutLandlock: maybe}'), 'worker.withoutLandlock: received "maybe"; expected true or false'],
    'in a name is answered with the names there are': [
      file('upkeep: {every: 5}'),
      'upkeep.every: there is no such setting; upkeep accepts intervalMs, queueMs, queueCapacity',
    ],
    'in the name of a group too': [
      file('hooks: {}'),
      'hooks: there is no such setting; the file accepts dataDir, api, web, output, secret, worker, controller, nats, pools, s3, storage, connections, destinations, fetch, egress, limits, upkeep, uploads, webhooks, log',
    ],
    'of a bucket keeps what is secret to itself': [
      { S3_ENDPOINT: 'http://s3', S3_BUCKET: 'files', S3_ACCESS_KEY_ID: 'me' },
      'S3_SECRET_ACCESS_KEY, s3.secretAccessKey: received (hidden); expected s3.accessKeyId and s3.secretAccessKey together, or neither, for credentials that the AWS SDK finds',
    ],
    'of a bucket with a secret and no access key is named': [
      { S3_ENDPOINT: 'http://s3', S3_BUCKET: 'files', S3_SECRET_ACCESS_KEY: 'canary' },
      'S3_ACCESS_KEY_ID, s3.accessKeyId: received undefined; expected s3.accessKeyId and s3.secretAccessKey together, or neither, for credentials that the AWS SDK finds',
    ],
    'of clients that a connection cannot be for is named': [
      file(
        'connections: {team: {endpoint: "https://s3.example.org", secretDir: /s, buckets: [files], clients: ["2001:db8::/64", "2001:db8::/65"]}}',
      ),
      'connections.team.clients.1: received "2001:db8::/65"; expected an IPv4 address or a CIDR such as 10.0.0.0/8, of IPv6 no longer than /64: an IPv6 client is known by its /64',
    ],
    'of naming a file that is not there is named': [
      { CONFIG_FILE: '/nowhere.yaml' },
      "CONFIG_FILE: /nowhere.yaml cannot be read: ENOENT: no such file or directory, open '/nowhere.yaml'",
    ],
  };
  for (const [sentence, [environment, mistake]] of Object.entries(cases))
    it(sentence, () => expect(mistakesOf(environment)).toEqual([mistake]));

  it('that makes a list of the file is named', () => expect(mistakesOf(file('- a'))[0]).toMatch(/has no settings but \["a"\]$/));
  it('that breaks the YAML is named by its line', () => expect(mistakesOf(file('api: {port: 1'))[0]).toMatch(/cannot be read: .*line 1/));
  it('that makes a value of a group does not hide behind a variable', () =>
    expect(mistakesOf({ ...file('api: 3'), PORT: '1' })[0]).toMatch(/^api: received 3; expected settings: port, host, /));
  it('does not hide another', () => {
    const mistakes = mistakesOf({ ...file('foo: 1\nbar: 2\nworker: {drainMs: -1}'), PORT: 'x', LOG_LEVEL: 'x', POOL: 'No pool' });
    expect(mistakes.map((mistake) => mistake.split(/[,:]/)[0]).toSorted()).toEqual([
      'LOG_LEVEL',
      'POOL',
      'PORT',
      'bar',
      'foo',
      'worker.drainMs',
    ]);
  });
  it('is counted', () => {
    const counted = (environment: Readonly<Record<string, string>>) => () => loadConfig(environment);
    expect(counted({ PORT: 'x' })).toThrow(/^The configuration has a mistake:\n/);
    expect(counted({ ...file('foo: 1\nbar: 2'), PORT: 'x' })).toThrow(/^The configuration has 3 mistakes:\n/);
  });
});
