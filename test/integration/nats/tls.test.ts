/** NATS by TLS, with certificates of both sides and with credentials files; S3 by TLS: roles as processes, against real servers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiPermissions, workerPermissions } from '../../../src/nats/permissions.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Authority, authorityIn, type Identity } from '../../kit/nats/certificates.ts';
import { type Minio, startMinio } from '../../kit/objects/minio.ts';
import { checkout, convert, endProcess, type Starting, spawnService } from '../../kit/roles/service.ts';
import { anOperator } from './nats-accounts.ts';

let home: string;
let authority: Authority;
let server: Identity;
let ours: Identity;
let minio: Minio;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-tls-'));
  authority = authorityIn(home);
  server = authority.identity('server');
  ours = authority.identity('client');
  const certificates = join(home, 'minio');
  await mkdir(certificates);
  await copyFile(server.cert, join(certificates, 'public.crt'));
  await copyFile(server.key, join(certificates, 'private.key'));
  minio = await startMinio({ certificates });
});
afterAll(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await minio?.stop();
  await rm(home, { recursive: true, force: true });
});

/** @returns `localhost:port` of a separate server */
async function startNats(settings: object): Promise<string> {
  const folder = await mkdtemp(join(home, 'nats-'));
  const path = join(folder, 'server.conf');
  await writeFile(path, JSON.stringify({ listen: '127.0.0.1:-1', jetstream: { store_dir: folder }, ...settings }));
  const child = spawn(join(checkout, '.cache/bin/nats-server'), ['-c', path], { stdio: ['ignore', 'ignore', 'pipe'] });
  ends.push(async () => {
    const exited = once(child, 'exit');
    if (child.kill('SIGKILL')) await exited;
  });
  const said: string[] = [];
  let port: string | undefined;
  for await (const line of createInterface({ input: child.stderr })) {
    said.push(line);
    port ??= /client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port !== undefined && line.includes('Server is ready')) {
      child.stderr.resume();
      return `localhost:${port}`;
    }
  }
  throw new Error(`nats-server ended: ${said.join('\n')}`);
}

async function start(role: 'api' | 'worker', environment: Readonly<Record<string, string>>): Promise<Starting> {
  const dataDir = await mkdtemp(join(home, `${role}-`));
  await copyFile(join(checkout, '.cache/test-versions.json'), join(dataDir, 'versions.json')).catch(() => {});
  const { endpoint, bucket, accessKeyId, secretAccessKey } = minio.settings({ bucket: 'files' });
  const s3 = { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey };
  const own = role === 'api' ? { ...s3, SECRET_KEY: 'a-secret-that-all-replicas-of-this-test-share' } : { POOL: 'image' };
  const given = { NODE_EXTRA_CA_CERTS: authority.ca, ...own, ...environment };
  const started = await spawnService(dataDir, { worker: { slots: { image: 1 } } }, given, [join(checkout, 'scripts/filemill'), role]);
  ends.push(() => endProcess({ ...started, url: '' }));
  return started;
}

/** What a role said that could not start. */
async function refusal(environment: Readonly<Record<string, string>>): Promise<string> {
  const { ended, lines, child, serving } = await start('worker', environment);
  await Promise.race([ended, serving]);
  expect(child.exitCode).toBe(1);
  return lines.join('\n');
}

/** A picture sent to a replica, converted by a worker, and fetched. */
async function converts(environment: Readonly<Record<'api' | 'worker', Readonly<Record<string, string>>>>): Promise<void> {
  const [api, worker] = await Promise.all([start('api', environment.api), start('worker', environment.worker)]);
  const url = await api.serving;
  expect(url, api.lines.join('\n')).toBeDefined();
  const picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  let answer = await convert(url ?? '', { name: 'picture.png', bytes: picture }, 'webp');
  // Until the replica has heard of the worker there is no way from one format to the other.
  await eventually(
    async () => {
      expect(worker.child.exitCode, worker.lines.join('\n')).toBeNull();
      if (answer.status !== 200) answer = await convert(url ?? '', { name: 'picture.png', bytes: picture }, 'webp');
      return answer.status === 200;
    },
    'the picture to be converted',
    30_000,
  );
  const bytes = Buffer.from(await (await fetch(answer.data?.output?.url ?? '')).arrayBuffer());
  expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 64, height: 48 });
}

describe('servers that ask for a certificate', () => {
  let address: string;
  beforeAll(async () => {
    address = await startNats({ tls: { cert_file: server.cert, key_file: server.key, ca_file: authority.ca, verify: true } });
  });
  const environment = (change: Readonly<Record<string, string>> = {}) => ({
    NATS_URL: address,
    NATS_CA: authority.ca,
    NATS_CERT: ours.cert,
    NATS_KEY: ours.key,
    ...change,
  });

  it('accept ours, while S3 is reached by TLS too', () => converts({ api: environment(), worker: environment() }));

  it('refuse a client without one', async () => {
    expect(await refusal(environment({ NATS_CERT: '', NATS_KEY: '' }))).toMatch(/cannot start: no NATS server accepts the connection/);
  });

  it('are not trusted where another authority has signed theirs', async () => {
    const other = authorityIn(home, 'another');
    expect(await refusal(environment({ NATS_CA: other.ca }))).toMatch(/cannot start: .*certificate/);
  });

  it.each([
    ['NATS_CA', 'NATS_CA, the certificates that NATS servers are trusted by, cannot be read at /nowhere/file (ENOENT)'],
    ['NATS_CERT', 'NATS_CERT, our certificate for NATS, cannot be read at /nowhere/file (ENOENT)'],
    ['NATS_KEY', "NATS_KEY, that certificate's key, cannot be read at /nowhere/file (ENOENT)"],
    ['NATS_CREDS', 'NATS_CREDS, the NATS credentials file, cannot be read at /nowhere/file (ENOENT)'],
  ])('are not asked while %s names a file that is not there', async (variable, says) => {
    expect(await refusal(environment({ [variable]: '/nowhere/file' }))).toContain(says);
  });

  it('are not asked with a certificate that has no key', async () => {
    expect(await refusal(environment({ NATS_KEY: '' }))).toContain('set both NATS_CERT and NATS_KEY, or neither');
  });
});

it.each([
  ['NATS_CA is set', (address: string) => ({ NATS_URL: address, NATS_CA: authority.ca })],
  ['their scheme is tls', (address: string) => ({ NATS_URL: `tls://${address}` })],
])('servers without TLS are not spoken to where %s', async (_, environment) => {
  expect(await refusal(environment(await startNats({})))).toContain("server does not support 'tls'");
});

it('credentials files let each role do what it needs, by TLS', async () => {
  const operator = anOperator();
  const address = await startNats({ ...operator.server, tls: { cert_file: server.cert, key_file: server.key } });
  const files = { api: join(home, 'api.creds'), worker: join(home, 'worker.creds') };
  await writeFile(files.api, operator.user(apiPermissions));
  await writeFile(files.worker, operator.user(workerPermissions('image')));
  const secure = { NATS_URL: address, NATS_CA: authority.ca };
  await converts({ api: { ...secure, NATS_CREDS: files.api }, worker: { ...secure, NATS_CREDS: files.worker } });
  await writeFile(files.worker, anOperator().user(workerPermissions('image')));
  expect(await refusal({ ...secure, NATS_CREDS: files.worker })).toMatch(/cannot start: .*authorization/i);
});
