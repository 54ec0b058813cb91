/** Limits over HTTP: what a client is told, what is counted, what comes back, and who is who behind a proxy. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { connectTo, FORM, raw } from '../../kit/api/wire.ts';
import { DOT } from '../../kit/catalog/bytes.ts';
import {
  type Answer,
  checkout,
  convert,
  endProcess,
  readAnswer,
  type Service,
  type Settings,
  startProcess,
  startService,
} from '../../kit/roles/service.ts';

const NOISE = { name: 'noise.bin', bytes: Buffer.from([0, 1, 2, 3, 250, 9, 8, 7]) };
const HOUR = 3_600_000;

const services: Service[] = [];
let now = 0;
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});
/** Its clock stands still until it is moved. */
async function serve(limits: object = {}, api: object = {}, more: Settings = {}): Promise<Service> {
  now = Date.now();
  const service = await startService({ limits: { ...limits }, api: { ...api }, ...more }, () => now);
  services.push(service);
  return service;
}

const send = (service: Service, { to = 'jpg', file = DOT, headers = {}, fields = {} } = {}): Promise<Answer> =>
  convert(service.url, file, to, fields, { prefer: 'respond-async', ...headers });
const limitsOf = async ({ url }: Service, headers: Record<string, string> = {}) =>
  ((await (await fetch(`${url}/api/v1/limits`, { headers })).json()) as { data: Shown }).data;

interface Shown {
  readonly client: string;
  readonly banned: boolean;
  readonly ban_expires_at: string | null;
  readonly rejections_last_hour: number;
  readonly tiers: Readonly<Record<string, { limit: number; used: number; remaining: number; reset_seconds: number }>>;
}

describe('every answer', () => {
  it('tells how much of the scarcest limit is left', async () => {
    const service = await serve();
    const { headers } = await send(service);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-ratelimit-limit': '150',
      'x-ratelimit-remaining': '149',
      'x-ratelimit-reset': '3600',
      ratelimit: '"hourly";r=149;t=3600',
      'ratelimit-policy': '"daily";q=1000;w=86400, "hourly";q=150;w=3600',
    });
    for (const path of ['/api/v1/health', '/api/v1/limits', '/nowhere', `/api/v1/jobs/${'0'.repeat(32)}`])
      expect((await fetch(`${service.url}${path}`)).headers.get('x-ratelimit-remaining'), path).toBe('149');
  });

  it('has these headers too where there was no request that could be read', async () => {
    const service = await serve();
    await send(service);
    for (const head of [
      'GARBAGE\r\n\r\n',
      'CONNECT a.example:1 HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    ])
      expect((await raw(service.url, head)).text.toLowerCase(), head).toContain('x-ratelimit-remaining: 149');
  });

  it('has none of these headers where limits are off, nor has a client limits of its uploads', async () => {
    const service = await serve({ enabled: false }, {}, { uploads: { maxPerClient: 1 } });
    const body = new FormData();
    body.set('file', new Blob([DOT.bytes]), DOT.name);
    for (let n = 0; n < 3; n++) expect((await fetch(`${service.url}/api/v1/uploads`, { method: 'POST', body })).status).toBe(201);
    const { headers } = await send(service);
    expect([...headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
    for (let n = 0; n < 5; n++) expect((await send(service)).status).toBe(200);
  });
});

describe('an operator', () => {
  const filemill = async (args: readonly string[], dataDir: string) =>
    (await promisify(execFile)(join(checkout, 'scripts/filemill'), ['limits', ...args], { env: { ...process.env, DATA_DIR: dataDir } }))
      .stdout;

  it('sees who is banned, and lifts the ban beside the running service', async () => {
    const service = await startService({ limits: { rejections: 1, cooldownMs: HOUR } });
    services.push(service);
    const statuses = [];
    for (let n = 0; n < 5; n++) statuses.push((await send(service)).status);
    expect(statuses.at(-1)).toBe(403);
    expect(await filemill([], service.dataDir)).toMatch(/^clients with a record: 1; banned: 1, .*\n {2}[0-9a-f]{12}… {2}until 20/);
    expect(await filemill(['127.0.0.1'], service.dataDir)).toMatch(/^127\.0\.0\.1: banned until 20/);
    expect(await filemill(['127.0.0.1', '--unban'], service.dataDir)).toMatch(/^127\.0\.0\.1: not banned, 0 refusals/);
    expect((await send(service)).status).toBe(429);
    await expect(filemill(['--unban'], service.dataDir)).rejects.toThrow(/usage: "filemill limits"/);
  });
});

describe('a person at this machine', () => {
  const three = async (service: Service, headers = {}) => {
    const answers = [];
    for (let n = 0; n < 3; n++) answers.push(await send(service, { headers }));
    return answers.map(({ status }) => status);
  };

  it('is not limited', async () => {
    const service = await serve({ loopback: false });
    expect(await three(service)).toEqual([200, 200, 200]);
    expect((await send(service)).headers.has('x-ratelimit-limit')).toBe(false);
    expect(await limitsOf(service)).toMatchObject({ enabled: false, tiers: { hourly: { used: 0 } } });
  });

  it('is limited behind a proxy that forwards, whether or not it was named, and where a public URL is set', async () => {
    const forwarding = { 'x-forwarded-for': '198.51.100.1' };
    expect(await three(await serve({ loopback: false }), forwarding)).toEqual([200, 429, 429]);
    expect(await three(await serve({ loopback: false }, { trustProxy: ['127.0.0.1'] }), forwarding)).toEqual([200, 429, 429]);
    expect(await three(await serve({ loopback: false }, { publicUrl: 'https://files.example.org' }))).toEqual([200, 429, 429]);
  });

  it('is one that the configuration names', async () => {
    const service = await serve({ unlimited: ['127.0.0.0/8'] }, { publicUrl: 'https://files.example.org' });
    expect(await three(service)).toEqual([200, 200, 200]);
  });
});

it('GET /api/v1/limits shows what was used, and uses nothing', async () => {
  const service = await serve();
  await send(service);
  for (let n = 0; n < 3; n++) await limitsOf(service);
  expect(await limitsOf(service)).toEqual({
    enabled: true,
    client: '127.0.0.1',
    banned: false,
    ban_expires_at: null,
    rejections_last_hour: 0,
    tiers: {
      daily: { limit: 1000, used: 1, remaining: 999, reset_seconds: 86_400 },
      hourly: { limit: 150, used: 1, remaining: 149, reset_seconds: 3_600 },
      cooldown: { limit: 1, used: 1, remaining: 0, reset_seconds: 1 },
      mcp: { limit: 1000, used: 0, remaining: 1000, reset_seconds: 86_400 },
      ai: expect.objectContaining({ 'upscale-image': { limit: 50, used: 0, remaining: 50, reset_seconds: 86_400 } }),
    },
    files: { max_bytes: 209_715_200, max_batch_files: 20, max_uploads: 20, max_upload_bytes: 2_147_483_648 },
    jobs: { max_ids: 100 },
  });
});

it('counts the files of a batch, and no field that a browser left empty before them', async () => {
  const service = await serve();
  const form = new FormData();
  form.append('files[]', new Blob([]), '');
  for (const name of ['a.png', 'b.png']) form.append('files[]', new Blob([new Uint8Array(DOT.bytes)]), name);
  form.append('to_format', 'jpg');
  const answer = await fetch(`${service.url}/api/v1/batch`, { method: 'POST', body: form, headers: { prefer: 'respond-async' } });
  expect(await readAnswer(answer)).toMatchObject({ status: 200, data: { jobs: [{}, {}] } });
  expect(await limitsOf(service)).toMatchObject({ tiers: { daily: { used: 2 }, hourly: { used: 1 } } });
});

it('a second request within the second is told when to come back, and then welcome', async () => {
  const service = await serve();
  await send(service);
  const refused = await send(service);
  expect(refused).toMatchObject({ status: 429, error: { code: 'RATE_LIMITED', details: { tier: 'cooldown', reset_seconds: 1 } } });
  expect(refused.headers.get('retry-after')).toBe('1');
  now += 1_000;
  expect((await send(service)).status).toBe(200);
  // Who waits as told has done nothing wrong.
  expect(await limitsOf(service)).toMatchObject({ rejections_last_hour: 0 });
});

it('a used-up hour opens again when it is over', async () => {
  const service = await serve({ hourly: 2, cooldownMs: 0 });
  for (let n = 0; n < 2; n++) expect((await send(service)).status).toBe(200);
  expect((await send(service)).error?.details).toMatchObject({ tier: 'hourly', limit: 2, reset_seconds: 3_600, rejections_last_hour: 1 });
  now += HOUR;
  expect((await send(service)).status).toBe(200);
});

it.each([
  [400, { to: 'mp3' }],
  [400, { fields: { img_quality: '101' } }],
  [413, { file: { name: 'large.csv', bytes: Buffer.alloc(3_000, 97) } }],
  [415, { file: NOISE }],
])('a request that ends %i has its share back', async (status, what) => {
  const service = await serve({}, { maxFileBytes: 2_000 });
  const answer = await send(service, what);
  expect(answer.status).toBe(status);
  expect(answer.headers.get('x-ratelimit-remaining')).toBe('150');
  const { tiers } = await limitsOf(service);
  expect([tiers['daily']?.used, tiers['hourly']?.used, tiers['cooldown']?.used]).toEqual([0, 0, 1]);
});

it('a refusal comes before the body', async () => {
  const service = await serve({ cooldownMs: HOUR });
  await send(service);
  const socket = connectTo(service.url);
  socket.write(`POST /api/v1/convert HTTP/1.1\r\nHost: x\r\nContent-Type: ${FORM}\r\nContent-Length: 100000000\r\n\r\n`);
  const [first] = await new Promise<Buffer[]>((heard) => socket.once('data', (chunk) => heard([Buffer.from(chunk)])));
  socket.destroy();
  expect(first?.toString()).toMatch(/^HTTP\/1\.1 429 /);
});

it('eleven refusals in an hour end in a ban, which stops new work alone, for a day', async () => {
  const service = await serve({ cooldownMs: HOUR / 2 });
  const { data } = await send(service);
  for (let n = 0; n < 11; n++) expect((await send(service)).status).toBe(429);
  const banned = await send(service);
  expect(banned).toMatchObject({ status: 403, error: { code: 'BANNED' } });
  expect(Date.parse(String(banned.error?.details['ban_expires_at']))).toBe(now + 24 * HOUR);
  expect(banned.headers.get('retry-after')).toBe(String(24 * 3600));
  expect((await fetch(`${service.url}/api/v1/jobs/${data?.job_id}`)).status).toBe(200);
  expect(await limitsOf(service)).toMatchObject({ banned: true, ban_expires_at: new Date(now + 24 * HOUR).toISOString() });
  now += 24 * HOUR;
  expect((await send(service)).status).toBe(200);
});

it('of a hundred requests at once as many pass as the limit says', async () => {
  const service = await serve({ hourly: 7, cooldownMs: 0 });
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(service)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
  expect(answers.filter(({ status }) => status === 429 || status === 403)).toHaveLength(93);
});

it('more unfinished jobs than allowed have to wait, and a finished one makes room', async () => {
  const service = await serve({ concurrent: 2, cooldownMs: 0 }, {}, { worker: { slots: { media: 0 } } });
  const sound = {
    file: { name: 'sound.wav', bytes: Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0', 'latin1'), Buffer.alloc(2_000)]) },
    to: 'mp3',
  };
  const { data } = await send(service, sound);
  expect((await send(service, sound)).status).toBe(200);
  expect((await send(service, sound)).error?.details).toMatchObject({ tier: 'concurrent', limit: 2, rejections_last_hour: 0 });
  await fetch(`${service.url}/api/v1/jobs/${data?.job_id}`, { method: 'DELETE' });
  expect((await send(service, sound)).status).toBe(200);
});

it('reads have a separate guard, which is no rejection and never closes health', async () => {
  const service = await serve({ readsPerMinute: 5 });
  const read = async () => readAnswer(await fetch(`${service.url}/api/v1/jobs/${'0'.repeat(32)}`));
  for (let n = 0; n < 5; n++) expect((await read()).status).toBe(404);
  expect(await read()).toMatchObject({ status: 429, error: { details: { tier: 'flood', rejections_last_hour: 0 } } });
  for (const path of ['/api/v1/health', '/api/v1/limits', '/livez']) expect((await fetch(`${service.url}${path}`)).status, path).toBe(200);
  now += 60_000;
  expect((await read()).status).toBe(404);
});

describe('a client', () => {
  it('is its connection, whatever it says', async () => {
    const service = await serve({ cooldownMs: HOUR });
    await send(service, { headers: { 'x-forwarded-for': '192.0.2.1' } });
    expect((await send(service, { headers: { 'x-forwarded-for': '192.0.2.2' } })).status).toBe(429);
    expect((await limitsOf(service, { 'x-forwarded-for': '192.0.2.3' })).client).toBe('127.0.0.1');
  });

  it('is who a trusted proxy says, an IPv6 one by its /64', async () => {
    const service = await serve({ cooldownMs: HOUR }, { trustProxy: ['127.0.0.1'] });
    for (const address of ['192.0.2.1', '192.0.2.2', '2001:db8:1:2::1'])
      expect((await send(service, { headers: { 'x-forwarded-for': address } })).status).toBe(200);
    expect((await send(service, { headers: { 'x-forwarded-for': '2001:db8:1:2:3:4:5:6' } })).status).toBe(429);
    // What stands left of the address that the proxy saw may be made up.
    expect((await send(service, { headers: { 'x-forwarded-for': '198.51.100.9, 192.0.2.1' } })).status).toBe(429);
    expect((await limitsOf(service, { 'x-forwarded-for': '2001:db8:1:2::9' })).client).toBe('2001:db8:1:2::/64');
  });

  it('is remembered over a restart, and not by its address', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'filemill-limits-'));
    try {
      const limits = { limits: { cooldownMs: HOUR } };
      const first = await startProcess(dataDir, limits);
      expect((await convert(first.url, DOT, 'jpg')).status).toBe(200);
      await endProcess(first, 'SIGKILL');
      const second = await startProcess(dataDir, limits);
      expect((await convert(second.url, DOT, 'jpg')).status).toBe(429);
      await endProcess(second);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
