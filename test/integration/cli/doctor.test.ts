/** `filemill doctor` and `filemill support-bundle` on this machine, beside a real service and behind a real proxy; planted names and secrets do not get out. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcp } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { versionAt } from '../../../src/roles/process/program.ts';
import { freePort } from '../../kit/exec/ports.ts';
import { checkout, convert, endProcess, type ServiceProcess, startProcess, useKnownVersions } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const VERSION = versionAt(checkout);
const root = await mkdtemp(join(tmpdir(), 'filemill-doctor-'));
await chmod(root, 0o755);
const dataDir = join(root, 'data-von-liebermann');
let service: ServiceProcess;
/** In front of the service, as nginx is unless it is told: bodies beyond 1 MiB are refused. */
let proxy: Server;
let port: string;
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  await mkdir(dataDir, { mode: 0o755 });
  await useKnownVersions(dataDir);
  service = await startProcess(dataDir);
  port = new URL(service.url).port;
  proxy = createServer(async (request, response) => {
    if (Number(request.headers['content-length'] ?? 0) > 1 << 20) return void response.writeHead(413).end('<html>413</html>');
    const answer = await fetch(`${service.url}${request.url}`, { method: request.method ?? 'GET' });
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? '',
      date: new Date(Date.now() - 600_000).toUTCString(),
    });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  await convert(
    service.url,
    {
      name: 'photo.png',
      bytes: await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c02040' } })
        .png()
        .toBuffer(),
    },
    'jpg',
  );
});
afterAll(async () => {
  proxy.close();
  await endProcess(service);
  await rm(root, { recursive: true, force: true });
});

async function filemill(args: readonly string[], env: Readonly<Record<string, string>> = {}, input?: string) {
  const child = run(join(checkout, 'scripts/filemill'), args, {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: root, DATA_DIR: dataDir, PORT: port, ...env },
    maxBuffer: 1 << 26,
  });
  child.child.stdin?.end(input);
  return child.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  );
}
async function examined(env: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await filemill(['doctor', '--json'], env);
  expect(stderr).toBe('');
  const seen = JSON.parse(stdout) as { version: string; tally: Record<string, number>; findings: readonly Finding[] };
  return { code, ...seen, of: (check: string) => seen.findings.find((each) => each.check === check) };
}

describe('filemill doctor', () => {
  it('sees the kernel, the converters and the service of this machine, and leaves nothing', async () => {
    const before = (await readdir('/var/tmp')).filter((name) => name.startsWith('filemill-doctor-'));
    const { findings, of, tally, version } = await examined();
    expect(version).toBe(VERSION);
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'settings',
        'landlock',
        'seccomp',
        'cgroups',
        'users',
        'user-namespaces',
        'confinement',
        'engines',
        'updates',
        'fonts',
        'models',
        'memory',
        'open-files',
        'disk',
        'work-disk',
        'data',
        'port',
        'service',
        'proxy',
        'trust-proxy',
        'public-url',
        'clock',
      ]),
    );
    const { data } = (await (await fetch(`${service.url}/api/v1/health`)).json()) as {
      data: { confinement: { landlock_abi: number }; engines: Record<string, { name: string; version: string }> };
    };
    expect(of('landlock')?.facts).toMatchObject({ landlock_abi: data.confinement.landlock_abi });
    expect(of('confinement')?.state).toBe('ok');
    const versions = (of('engines')?.facts?.['versions'] ?? {}) as Record<string, string>;
    const pdf = data.engines['pdf'];
    expect(versions[pdf?.name ?? '']).toBe(pdf?.version);
    expect(Object.keys(versions).length).toBeGreaterThan(20);
    expect(of('data')?.facts).toEqual({ version: 1 });
    expect(of('port')).toMatchObject({ state: 'ok', facts: { answers: 'filemill' } });
    expect(Object.values(tally).reduce((sum, count) => sum + count, 0)).toBe(findings.length);
    for (const { state, todo } of findings) expect(todo === undefined).toBe(state === 'ok');
    expect((await readdir('/var/tmp')).filter((name) => name.startsWith('filemill-doctor-'))).toEqual(before);
  }, 180_000);

  it('asks PUBLIC_URL as a client would: through a proxy that is wrong in three ways', async () => {
    const { code, of } = await examined({ PUBLIC_URL: `http://localhost:${portOf(proxy)}` });
    expect(code).toBe(1);
    expect(of('public-url')).toMatchObject({ state: 'ok' });
    expect(of('trust-proxy')).toMatchObject({ state: 'warning' });
    expect(of('body')).toMatchObject({ state: 'problem', says: expect.stringContaining('413') });
    expect(of('clock')).toMatchObject({ state: 'problem', says: expect.stringMatching(/\d+ s ahead of/) });
  }, 180_000);

  it('tells of a port that another program has, and of an address where nothing answers', async () => {
    const other = createTcp((socket) => socket.destroy());
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const taken = await examined({
      PORT: String((other.address() as AddressInfo).port),
      PUBLIC_URL: `http://127.0.0.1:${await freePort()}`,
    });
    other.close();
    expect(taken.of('port')).toMatchObject({ state: 'problem' });
    expect(taken.of('public-url')).toMatchObject({ state: 'problem', says: expect.stringContaining('ECONNREFUSED') });
  }, 180_000);

  it('says it in lines, all mistakes of the settings too, and how it is used', async () => {
    const { code: faulty, stdout } = await filemill(['doctor'], { PUBLIC_URL: 'files', TRUST_PROXY: 'all' });
    expect(faulty).toBe(1);
    expect(stdout).toContain(`filemill ${VERSION}`);
    expect(stdout).toMatch(/^problem {2}settings +the settings have 2 mistakes.*: PUBLIC_URL.*; TRUST_PROXY/m);
    expect(stdout).toMatch(/^ok {7}landlock +/m);
    expect(stdout).toMatch(/^\d+ problems, \d+ warnings, \d+ unknown, \d+ fine$/m);
    const { code, stderr } = await filemill(['doctor', '--loud']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('usage: filemill doctor [--json] [--strict]')]);
  }, 180_000);
});

describe('filemill support-bundle', () => {
  const secret = (): string => randomBytes(20).toString('base64url');
  const [key, token, natsPassword, s3Secret, proxyPassword] = [secret() + secret(), secret() + secret(), secret(), secret(), secret()];
  const JOB = randomBytes(16).toString('hex');
  /** What must not be in the bundle, in whatever part it was planted. */
  const CANARIES = [
    key,
    token,
    natsPassword,
    s3Secret,
    proxyPassword,
    JOB,
    JOB.slice(0, 20),
    ...(hostname().length > 4 ? [hostname()] : []),
    'liebermann',
    'Kuendigung',
    'Müller',
    'intern.example',
    'files.geheim',
    'nas-keller',
    'user-bucket',
    '203.0.113',
    '2001:db8',
    '192.168.77',
    'erika',
    'mustermann',
    'Vertrag',
    'steuer-2025',
  ];
  const config = join(root, 'config.yaml');
  const log = [
    { level: 'info', time: '2026-11-01T10:00:00.000Z', msg: 'the job ended', job_id: JOB, filename: 'Kuendigung Müller.docx' },
    {
      level: 'warn',
      time: '2026-11-01T10:00:01.000Z',
      msg: 'the source cannot be fetched',
      job_id: JOB,
      url: 'https://intern.example/steuer-2025.pdf',
      client: '203.0.113.9',
    },
    {
      level: 'error',
      time: '2026-11-01T10:00:02.000Z',
      msg: 'request failed',
      reason: 'crashed',
      err: {
        type: 'Error',
        code: 'ENOENT',
        message: `ENOENT: no such file, open '/home/erika/Vertrag Müller.docx' for erika.mustermann@intern.example at 2001:db8::17, 192.168.77.4:8080 (${JOB}); Kuendigung.pdf, token ${token}`,
        stack: `Error: Vertrag\n    at open (/home/erika/src/filemill/src/objects/directory.ts:41:7)\n    at node:internal/fs:10:2`,
      },
    },
  ].map((line) => JSON.stringify(line));

  let bundle: string;
  beforeAll(async () => {
    await writeFile(
      config,
      JSON.stringify({
        dataDir,
        api: {
          port: Number(port),
          publicUrl: 'https://files.geheim.intern.example/erika',
          trustProxy: ['192.168.77.0/24'],
          allowedHosts: ['nas-keller'],
        },
        secret: { key: [key] },
        egress: { token: [token], url: 'http://nas-keller:8081' },
        worker: { models: '/srv/erika/models', slots: { image: 3 } },
        limits: { unlimited: ['203.0.113.0/24'] },
      }),
    );
    const env = {
      CONFIG_FILE: config,
      HTTPS_PROXY: `http://erika:${proxyPassword}@nas-keller:3128`,
      AWS_SECRET_ACCESS_KEY: s3Secret,
      NATS_PASSWORD_API: natsPassword,
    };
    const { code, stderr } = await filemill(
      ['support-bundle', 'bundle.json', '--log', '-'],
      env,
      `${log.join('\n')}\nplain words of Müller\n`,
    );
    expect([code, stderr]).toEqual([0, '']);
    bundle = await readFile(join(root, 'bundle.json'), 'utf8');
  }, 180_000);

  it.each(CANARIES.map((canary, at) => [at, canary] as const))('has no trace of canary %i', (_, canary) => {
    expect(canary.length).toBeGreaterThan(4);
    expect(bundle.toLowerCase()).not.toContain(canary.toLowerCase());
  });

  it('has what helps: findings, settings, health, metrics, jobs and the last errors', () => {
    const read = JSON.parse(bundle) as Record<string, unknown> & {
      findings: Finding[];
      metrics: string[];
      commit: string | null;
      health: { commit?: string };
      errors: { entries: Record<string, unknown>[] };
    };
    expect(read).toMatchObject({
      version: VERSION,
      settings: {
        api: { publicUrl: 'set', trustProxy: '1 set', host: '0.0.0.0' },
        worker: { slots: expect.objectContaining({ image: 3 }) },
        secret: { key: '1 set' },
      },
      variables: expect.arrayContaining(['CONFIG_FILE', 'PORT', 'DATA_DIR']),
      data: { store: 'SQLite', jobs: { done: 1 } },
      health: { status: expect.any(String), queue: { image: { waiting: 0 } } },
      errors: { lines: 4, unreadable: 1 },
    });
    // That of the service, which runs from the same checkout.
    expect(read.health.commit ?? null).toBe(read.commit);
    expect(read.metrics).toEqual(expect.arrayContaining([expect.stringMatching(/^filemill_jobs_ended_total\{.*pool="image".*\} 1$/)]));
    expect(read.errors.entries).toHaveLength(2);
    expect(read.errors.entries[1]).toMatchObject({
      level: 'error',
      msg: 'request failed',
      reason: 'crashed',
      err: { type: 'Error', code: 'ENOENT', at: ['src/objects/directory.ts:41', 'node:internal/fs:10'] },
    });
    const versions = read.findings.find(({ check }) => check === 'engines')?.facts?.['versions'] as Record<string, string>;
    expect(Object.values(versions).filter((version) => /<\w+-\d+>/.test(version))).toEqual([]);
  });

  it('names nothing of settings that have mistakes', async () => {
    const faulty = join(root, 'faulty.yaml');
    await writeFile(
      faulty,
      JSON.stringify({
        dataDir,
        api: { port: Number(port), publicUrl: 'files.geheim.intern.example' },
        s3: { endpoint: 'nas-keller.intern.example', bucket: 'user-bucket', secretAccessKey: s3Secret },
        worker: { slots: 'liebermann' },
      }),
    );
    const plain = 'files.geheim.intern.example, NAS-Keller.intern.example and user-bucket';
    const line = JSON.stringify({ level: 'error', time: '2026-11-01T10:00:00.000Z', msg: `no answer of ${plain}` });
    const { code, stdout } = await filemill(['support-bundle', '-', '--log', '-'], { CONFIG_FILE: faulty }, line);
    expect(code).toBe(0);
    for (const canary of CANARIES) expect(stdout.toLowerCase()).not.toContain(canary.toLowerCase());
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    expect(findings.find(({ check }) => check === 'settings')?.facts?.['mistakes']).toEqual(
      expect.arrayContaining([expect.stringContaining('api.publicUrl: expected an http or https URL')]),
    );
  }, 180_000);

  it('is readable by its owner alone, and replaces no file', async () => {
    expect((await stat(join(root, 'bundle.json'))).mode & 0o777).toBe(0o600);
    const { code, stderr } = await filemill(['support-bundle', 'bundle.json', '--log', config]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot be written (EEXIST)')]);
    const none = await filemill(['support-bundle', 'other.json', '--log', '/nowhere.log']);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('cannot be read (ENOENT)')]);
  }, 180_000);
});
