/** A disk that fills: new work is refused before it is full, what is there goes on, and health and metrics say why. */
import { afterEach, expect, it } from 'vitest';
import { freePorts } from '../../kit/exec/ports.ts';
import { convert, readAnswer, type Service, startService, untilEnded } from '../../kit/roles/service.ts';

let service: Service | undefined;
afterEach(() => service?.stop());

const TABLE = { name: 'table.csv', bytes: Buffer.from('name,age\nAda,36\n') };
const health = async (url: string) =>
  ((await (await fetch(`${url}/api/v1/health`)).json()) as { data: { status: string; storage: object } }).data;
const metrics = async (url: string) => (await fetch(`${url}/metrics`)).text();

it.each([
  ['more than is allowed is stored', { maxBytes: 10 }],
  ['less is free than is to be kept free', { minFreeBytes: 2 ** 50 }],
])('where %s, new work gets 503 before it is received, until there is room', async (_, storage) => {
  service = await startService({ storage });
  const { url } = service;
  const isBounded = 'maxBytes' in storage;
  const first = isBounded ? await convert(url, TABLE, 'html', {}, { prefer: 'respond-async' }) : undefined;
  const ended = first?.data === undefined ? undefined : await untilEnded(url, first.data.job_id);
  await expect.poll(() => health(url), { timeout: 15_000 }).toMatchObject({ status: 'degraded', storage: { full: true } });
  const refused = await convert(url, TABLE, 'html');
  expect(refused).toMatchObject({ status: 503, error: { code: 'OVERLOADED' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(TABLE.bytes)]), TABLE.name);
  const uploads = `${url}/api/v1/uploads`;
  const tus = { 'tus-resumable': '1.0.0', 'upload-length': '5' };
  for (const asked of [
    { method: 'POST', body: form },
    { method: 'POST', headers: tus },
  ])
    expect(await readAnswer(await fetch(uploads, asked))).toMatchObject({ status: 503, error: { code: 'OVERLOADED' } });
  expect(await metrics(url)).toMatch(/^filemill_storage_full 1$/m);
  if (ended?.data === undefined) return;
  expect((await fetch(ended.data.output?.url ?? '')).status).toBe(200);
  await fetch(`${url}/api/v1/jobs/${ended.data.job_id}`, { method: 'DELETE' });
  await expect.poll(() => health(url), { timeout: 15_000 }).toMatchObject({ status: 'ok', storage: { full: false, used_bytes: 0 } });
  expect((await convert(url, TABLE, 'html')).status).toBe(200);
});

it('by default says what is free, and refuses nothing', async () => {
  service = await startService();
  expect(await health(service.url)).toMatchObject({ status: 'ok', storage: { full: false, free_bytes: expect.any(Number) } });
  expect((await readAnswer(await fetch(`${service.url}/api/v1/jobs/${'0'.repeat(32)}`))).status).toBe(404);
});

it('metrics on a separate port are not on that of the API', async () => {
  const [port = 0] = await freePorts(1);
  service = await startService({ api: { metricsPort: port } });
  expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
  expect(await metrics(`http://127.0.0.1:${port}`)).toMatch(/^filemill_storage_free_bytes \d/m);
});
