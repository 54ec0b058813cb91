/** compose.cluster.yaml: what it promises of every service, and the whole of it started as processes with just its commands and environments. */

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { VARIABLES } from '../../../src/config.ts';
import { toolchainRow, toolchains, toolchainTable } from '../../../src/contracts/toolchains.ts';
import { connectNats } from '../../../src/nats/connection.ts';
import { inboxOf } from '../../../src/nats/permissions.ts';
import { openWeb, type Web } from '../../kit/api/web.ts';
import { freePort } from '../../kit/exec/ports.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { type Answer, checkout, convert, readAnswer, untilEnded } from '../../kit/roles/service.ts';

const run = promisify(execFile);

/** What of the Compose specification is used: anything else is a slip of the pen until it is written down here. */
const Service = z.strictObject({
  image: z.string(),
  command: z.array(z.string()).min(1),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).default([]),
  configs: z.array(z.strictObject({ source: z.string(), target: z.string() })).default([]),
  networks: z.array(z.string()),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).default({}),
  healthcheck: z.strictObject({
    test: z.tuple([z.literal('CMD'), z.string()], z.string()),
    interval: z.string(),
    timeout: z.string(),
    start_period: z.string(),
  }),
  restart: z.literal('unless-stopped'),
  init: z.literal(true),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  pids_limit: z.number().int(),
  mem_limit: z.string(),
  stop_grace_period: z.string(),
  tmpfs: z.array(z.string()),
});
type Service = z.infer<typeof Service>;

const Compose = z.strictObject({
  name: z.string(),
  services: z.record(z.string(), Service),
  configs: z.record(z.string(), z.strictObject({ content: z.string() })),
  networks: z.record(z.string(), z.looseObject({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.strictObject({})),
});

const ENVIRONMENT: Readonly<Record<string, string>> = {
  SECRET_KEY: 'a-secret-key-of-this-test-and-of-no-other',
  EGRESS_TOKEN: 'a-token-of-this-test-and-of-no-other-at-all',
  ...Object.fromEntries(['api', ...toolchains].map((user) => [`NATS_PASSWORD_${user.toUpperCase()}`, `kestrel-of-${user}`])),
  S3_SECRET_ACCESS_KEY: 'osprey-of-this-test',
};
const text = await readFile(join(checkout, 'compose.cluster.yaml'), 'utf8');

/** `${NAME}`, `${NAME:-preset}`, `${NAME:?complaint}` and `$$`, in every text of it (compose-spec, "Interpolation"). */
function interpolated(value: unknown, environment: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((item) => interpolated(item, environment));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, interpolated(item, environment)]));
  if (typeof value !== 'string') return value;
  return value.replace(/\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string | undefined, kind: string | undefined, words: string) => {
    if (name === undefined) return '$';
    const given = environment[name] ?? '';
    if (given !== '' || kind === undefined) return given;
    if (kind === '-') return words;
    throw new Error(`${name}: ${words}`);
  });
}
function read(environment = ENVIRONMENT) {
  const whole = parse(text, { merge: true }) as Record<string, unknown>;
  const own = Object.fromEntries(Object.entries(whole).filter(([key]) => !key.startsWith('x-')));
  return Compose.parse(interpolated(own, environment));
}
const compose = read();
const services = Object.entries(compose.services);
const roles = services.filter(([, { command }]) => command[0] === 'filemill');

describe('compose.cluster.yaml', () => {
  it.each(Object.keys(ENVIRONMENT))('has no preset for %s', (name) => {
    expect(() => read({ ...ENVIRONMENT, [name]: '' })).toThrow(`${name}: set ${name} in .env`);
  });

  it('has a service for each role and each toolchain', () => {
    expect(roles.map(([name]) => name).sort()).toEqual(['api', 'egress', ...toolchains].sort());
    for (const { name, image } of toolchainTable) {
      expect(compose.services[name]).toMatchObject({ environment: { POOL: name, TOOLCHAIN: name } });
      expect(compose.services[name]?.image).toMatch(new RegExp(`^${image}:`));
    }
  });

  it.each(roles)('sets for %s what roles know', (_, { environment }) => {
    expect(Object.keys(environment).filter((name) => !Object.hasOwn(VARIABLES, name))).toEqual([]);
  });

  it('lets egress alone reach the Internet', () => {
    expect(services.filter(([, { networks }]) => networks.includes('outside')).map(([name]) => name)).toEqual(['egress']);
    const open = Object.entries(compose.networks).filter(([, { internal }]) => internal !== true);
    expect(open.map(([name]) => name).sort()).toEqual(['door', 'outside']);
    expect(services.filter(([, { networks }]) => networks.includes('door')).map(([name]) => name)).toEqual(['api']);
  });

  it.each(toolchains)('trusts the worker of %s with neither the bucket nor the secret', (pool) => {
    const given = Object.keys(compose.services[pool]?.environment ?? {});
    expect(given.filter((name) => /^(S3_|SECRET_KEY)/.test(name))).toEqual([]);
    expect(given.includes('EGRESS_TOKEN')).toBe(toolchainRow(pool).reaches === 'internet');
  });
});

describe('its services as processes', () => {
  let home: string;
  let web: Web;
  let url: string;
  /** What stands for a port of compose.cluster.yaml on this machine. */
  const ports = new Map<string, number>();
  const children: { readonly name: string; readonly child: ChildProcess; readonly said: string[] }[] = [];

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'filemill-compose-'));
    web = await openWeb(() => ({ '/table.csv': (_, response) => response.end('name,size\nkestrel,7\n'), '/': '<h1>Kestrel</h1>' }));
    for (const port of ['4222', '8222', '9000', '8080', '8081']) ports.set(port, await freePort());
    url = `http://127.0.0.1:${ports.get('8080')}`;
    const started = new Set<string>();
    while (started.size < services.length) {
      const next = services.filter(
        ([name, { depends_on }]) => !started.has(name) && Object.keys(depends_on).every((on) => started.has(on)),
      );
      if (next.length === 0) throw new Error('services wait for each other');
      await Promise.all(next.map(([name, service]) => start(name, service)));
      for (const [name] of next) started.add(name);
    }
  });
  afterAll(async () => {
    await Promise.all(
      children.map(async ({ child }) => {
        const ended = once(child, 'exit');
        if (child.exitCode === null && child.kill('SIGKILL')) await ended;
      }),
    );
    web?.close();
    await rm(home, { recursive: true, force: true });
  });

  /** Starts it, and resolves when its own health check says that it is healthy. */
  async function start(name: string, { command, environment, volumes, configs, healthcheck }: Service): Promise<void> {
    const folder = await mkdtemp(join(home, `${name}-`));
    // A worker's port for health is another in each container.
    const own = new Map([...ports, ['9090', await freePort()]]);
    const places = [...volumes.map((volume) => volume.split(':').pop() ?? ''), ...configs.map(({ target }) => target)];
    const here = (said: string): string => {
      const placed = places.reduce((at, place) => at.replaceAll(place, join(folder, place)), said);
      const named = placed.replace(/\b(api|egress|nats|minio)(?=:\d)/g, '127.0.0.1').replaceAll('0.0.0.0', '127.0.0.1');
      return named.replace(/(?<=[:'"]|^)(?:4222|8222|9000|8080|8081|9090)\b/g, (port) => String(own.get(port)));
    };
    for (const volume of volumes) await mkdir(here(volume.split(':').pop() ?? ''), { recursive: true });
    for (const { source, target } of configs) {
      await mkdir(dirname(here(target)), { recursive: true });
      await writeFile(here(target), here(compose.configs[source]?.content ?? ''));
    }
    const translated = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, here(value)]));
    const dataDir = translated['DATA_DIR'] ?? folder;
    await copyFile(join(checkout, '.cache/test-versions.json'), join(dataDir, 'versions.json')).catch(() => {});
    // What is not compose.cluster.yaml's: the test's own servers pass for the Internet, to egress alone, and no engine is tried at the start.
    const fetching = { http: true, ports: [web.port], ...(name === 'egress' && { allow: ['127.0.0.2/32'] }) };
    await writeFile(
      join(folder, 'config.yaml'),
      JSON.stringify({ fetch: fetching, limits: { enabled: false }, worker: { trials: false } }),
    );
    const [program = '', ...args] = command;
    const path = program === 'filemill' ? join(checkout, 'scripts/filemill') : join(checkout, '.cache/bin', program);
    expect(existsSync(path), path).toBe(true);
    const child = spawn(path, args.map(here), {
      env: { PATH: process.env['PATH'], HOME: folder, CONFIG_FILE: join(folder, 'config.yaml'), DATA_DIR: dataDir, ...translated },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(String(chunk)));
    children.push({ name, child, said });
    const [, checker, ...words] = healthcheck.test;
    const healthy = () =>
      run(checker === 'node' ? process.execPath : checker, words.map(here)).then(
        () => true,
        () => false,
      );
    while (!(await healthy())) {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${said.join('')}`);
      // Each check starts a process.
      await pause(500);
    }
  }

  async function done(asked: () => Promise<Answer>): Promise<Buffer> {
    let answer = await asked();
    // A way there is when the replica has heard of a pool's worker; they say so when they start.
    for (let tries = 0; tries < 100 && answer.error !== undefined && [400, 501, 503].includes(answer.status); tries++) {
      await pause(100);
      answer = await asked();
    }
    if (answer.data?.status === 'processing') answer = await untilEnded(url, answer.data.job_id);
    if (answer.data?.output === undefined)
      throw new Error(`${JSON.stringify(answer.error)} ${children.map(({ name, said }) => `${name}: ${said.join('')}`).join('\n')}`);
    // Its links are made for PUBLIC_URL.
    return Buffer.from(await (await fetch(url + new URL(answer.data.output.url).pathname)).arrayBuffer());
  }
  const send = (name: string, bytes: Uint8Array, to: string) => done(() => convert(url, { name, bytes }, to));
  const ask = (path: string, fields: Readonly<Record<string, string>>) =>
    done(async () => {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      return readAnswer(await fetch(`${url}/api/v1/${path}`, { method: 'POST', body }));
    });
  const textOf = (document: Buffer) => execFileSync('pdftotext', ['-', '-'], { input: document }).toString();

  it('have a user of NATS each, with its own rights alone', async () => {
    const servers = [`127.0.0.1:${ports.get('4222')}`];
    const as = (user: string, password: string) => connectNats({ servers, name: 'test', user, password, inbox: inboxOf('worker', user) });
    const nats = await as('image', 'kestrel-of-image');
    expect(await nats.manager.streams.getMessage('convert-image', { last_by_subj: 'convert.image.>' })).toBeNull();
    await expect(nats.manager.streams.getMessage('convert-media', { last_by_subj: 'convert.media.>' })).rejects.toThrow(/[Pp]ermission/);
    await expect(nats.manager.streams.delete('KV_jobs')).rejects.toThrow(/[Pp]ermission/);
    await nats.close();
    await expect(as('image', 'kestrel-of-media')).rejects.toThrow();
  });

  it('convert a picture', async () => {
    const picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
    expect(await sharp(await send('picture.png', picture, 'webp')).metadata()).toMatchObject({ format: 'webp', width: 64, height: 48 });
  });

  it('convert a document', async () => {
    expect(textOf(await send('letter.rtf', Buffer.from('{\\rtf1\\ansi Kestrel}'), 'pdf'))).toContain('Kestrel');
  });

  it('convert a PDF', async () => {
    const page = await send('page.pdf', pdf([['Osprey']]), 'txt');
    expect(page.toString()).toContain('Osprey');
  });

  it('convert a recording', async () => {
    const seconds = 1;
    const wave = execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', `sine=duration=${seconds}`, '-f', 'wav', '-'], {
      maxBuffer: 1e7,
    });
    const probed = execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'format=format_name,duration', '-of', 'json', '-i', '-'], {
      input: await send('tone.wav', wave, 'flac'),
    });
    expect(JSON.parse(probed.toString())).toMatchObject({ format: { format_name: 'flac' } });
  });

  it('fetch a file by its URL, through egress', async () => {
    expect(String(await ask('convert', { url: `http://127.0.0.2:${web.port}/table.csv`, to_format: 'html' }))).toContain('kestrel');
  });

  it('print a page of the web, through egress', async () => {
    expect(textOf(await ask('tools/webpage-to-pdf', { url: `http://127.0.0.2:${web.port}/` }))).toContain('Kestrel');
  });
});
