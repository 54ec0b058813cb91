/** Files named by a URL instead of being sent: over HTTP, from servers of the test's own. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, newObjectsIn, objectsIn } from '../../kit/api/wire.ts';
import { type Answer, readAnswer, type Service, startService } from '../../kit/roles/service.ts';

const TABLE = 'name,size\nkestrel,7\n';
let origin: Server;
let base: string;
let service: Service;
let closed = 0;
/** The paths that were asked for. */
const asked: string[] = [];
/** Answers that a test ends when it likes. */
const held: ServerResponse[] = [];

beforeAll(async () => {
  origin = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    asked.push(pathname);
    if (pathname === '/table.csv') return void response.end(TABLE);
    if (pathname === '/named') return void response.setHeader('content-disposition', 'attachment; filename="prices 2026.csv"').end(TABLE);
    if (pathname === '/moved') return void response.writeHead(302, { location: '/table.csv' }).end();
    if (pathname === '/away') return void response.writeHead(302, { location: 'http://10.0.0.1/table.csv' }).end();
    if (pathname === '/empty') return void response.end();
    if (pathname === '/noise') return void response.end(Buffer.from([0, 1, 2, 250, 3, 9]));
    if (pathname === '/large') return void response.end(Buffer.alloc(5_000, 97));
    if (pathname === '/held') return void held.push(response);
    if (pathname === '/broken') return void response.writeHead(503).end();
    if (pathname === '/slow') {
      response.write(TABLE);
      response.on('close', () => closed++);
      return;
    }
    response.writeHead(404).end();
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const { port } = origin.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  service = await startService({
    fetch: { http: true, ports: [port, 80], allow: ['127.0.0.1/32'] },
    api: { maxFileBytes: 4_000, syncWaitMs: 8_000 },
  });
});
afterAll(async () => {
  await service?.stop();
  origin?.close();
});

function form(fields: Readonly<Record<string, string | Blob>>): FormData {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) typeof value === 'string' ? body.set(name, value) : body.set(name, value, 'sent.csv');
  return body;
}
const ask = async (url: string, fields: Readonly<Record<string, string | Blob>> = {}, path = '/api/v1/convert'): Promise<Answer> =>
  readAnswer(await fetch(`${service.url}${path}`, { method: 'POST', body: form({ url, to_format: 'html', ...fields }) }));
const output = async ({ data }: Answer): Promise<string> => (await fetch(data?.output?.url ?? '')).text();

it.each([
  ['/table.csv', 'table-filemill.html'],
  ['/named', 'prices 2026-filemill.html'],
  ['/moved', 'table-filemill.html'],
])('a table at %s becomes %s', async (path, filename) => {
  const answer = await settled(await ask(base + path));
  expect(answer.data?.output?.filename).toBe(filename);
  expect(answer.data?.warnings).toEqual([]);
  expect(await output(answer)).toContain('kestrel');
});

it.each([
  ['an address that is not public', 'http://10.0.0.1/table.csv', 400, 'URL_REFUSED', { reason: 'address' }],
  ['a redirect to one', '/away', 400, 'URL_REFUSED', { reason: 'address' }],
  ['a local file', 'file:///etc/passwd', 400, 'URL_REFUSED', { reason: 'scheme' }],
  ['a port that is not allowed', 'http://127.0.0.1:22/', 400, 'URL_REFUSED', { reason: 'port' }],
  ['a password', 'http://me:secret@127.0.0.1/', 400, 'URL_REFUSED', { reason: 'credentials' }],
  ['nothing there', '/nowhere', 400, 'URL_REFUSED', { reason: 'unreachable', status: 404 }],
  ['an empty file', '/empty', 400, 'NO_FILE', {}],
  ['what is no file of any kind', '/noise', 415, 'UNSUPPORTED_MIME', {}],
  ['more bytes than are accepted', '/large', 413, 'FILE_TOO_LARGE', { max_bytes: 4_000, received_bytes: 5_000 }],
])('%s is refused, and nothing is left', async (_, url, status, code, details) => {
  const answer = await ask(url.startsWith('/') ? base + url : url);
  expect(answer).toMatchObject({ status, error: { code, details } });
  expect(JSON.stringify(answer.error)).not.toContain('secret');
});

it('the output of an earlier job is read from the store: by REST, in a batch, and where nothing is fetched', async () => {
  const first = await settled(await ask(`${base}/table.csv`, { to_format: 'tsv' }));
  const url = first.data?.output?.url ?? '';
  const second = await settled(await ask(url, { to_format: 'json' }));
  expect([second.data?.output?.filename, await output(second)]).toEqual(['table-filemill.json', expect.stringContaining('kestrel')]);
  const batch = await readAnswer(await post('/api/v1/batch', form({ 'urls[]': `${url}\n${base}/table.csv`, to_format: 'html' })));
  expect(batch).toMatchObject({ status: 200, data: { counts: { total: 2, failed: 0 } } });
  // Its own address is no way to its own network.
  for (const [own, status, code] of [
    [`${service.url}/api/v1/health`, 400, 'URL_REFUSED'],
    [url.replace(/[0-9a-f]{32}/, '0123456789abcdef0123456789abcdef'), 404, 'JOB_NOT_FOUND'],
    [`${url}/../../../../metrics`, 400, 'URL_REFUSED'],
  ] as const)
    expect(await ask(own), own).toMatchObject({ status, error: { code } });
  await fetch(first.data?.links.self ?? '', { method: 'DELETE' });
  expect(await ask(url)).toMatchObject({ status: 410, error: { code: 'JOB_EXPIRED' } });
});

it('a file and a URL together are refused', async () => {
  const answer = await ask(`${base}/table.csv`, { file: new Blob([TABLE]) });
  expect(answer).toMatchObject({ status: 400, error: { code: 'BAD_REQUEST' } });
});

const post = (path: string, body: FormData | URLSearchParams | string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${service.url}${path}`, { method: 'POST', body, headers });
const jobOf = async (id: string | undefined): Promise<Answer> => readAnswer(await fetch(`${service.url}/api/v1/jobs/${id}`));
const ended = async (id: string | undefined) =>
  eventually(async () => {
    const answer = await jobOf(id);
    return answer.data?.status === 'processing' ? undefined : answer;
  }, 'the job to end');
/** A busy machine may not be done within the wait. */
const settled = async (answer: Answer): Promise<Answer> => (answer.data?.status === 'processing' ? ended(answer.data.job_id) : answer);

it.each([
  ['/api/v1/tools/merge-pdf', { 'urls[]': '/unasked' }, 'BAD_REQUEST'],
  ['/api/v1/tools/rotate-image', { url: '/unasked', img_rotate: 'askew' }, 'INVALID_OPTION'],
  ['/api/v1/convert', { url: '/unasked', to_format: 'html', img_quality: 'good' }, 'INVALID_OPTION'],
  ['/api/v1/batch', { 'urls[]': '/unasked', to_format: 'html', img_quality: 'good' }, 'INVALID_OPTION'],
])('%s refuses %j before a file is fetched', async (path, fields, code) => {
  const sent = Object.entries(fields).map(([name, value]) => [name, value === '/unasked' ? base + value : value]);
  const answer = await readAnswer(await post(path, form(Object.fromEntries(sent)), { prefer: 'respond-async' }));
  expect(answer).toMatchObject({ status: 400, error: { code } });
  expect(asked).not.toContain('/unasked');
});

it('a client that prefers so is answered before the file has come', async () => {
  const response = await post('/api/v1/convert', form({ url: `${base}/held`, to_format: 'html' }), { prefer: 'respond-async' });
  const answer = await readAnswer(response);
  expect([answer.status, answer.data?.status, response.headers.get('preference-applied')]).toEqual([200, 'processing', 'respond-async']);
  await eventually(() => held.length === 1, 'the fetch');
  for (const response of held.splice(0)) response.end(TABLE);
  const done = await ended(answer.data?.job_id);
  expect(done.data?.output?.filename).toBe('held-filemill.html');
  expect(await output(done)).toContain('kestrel');
});

it.each([
  ['/nowhere', { reason: 'url_refused', url_reason: 'unreachable', status: 404, retryable: false }],
  ['/broken', { reason: 'url_refused', url_reason: 'unreachable', status: 503, retryable: true }],
  ['/large', { reason: 'file_too_large', max_bytes: 4_000 }],
  ['/noise', { reason: 'unsupported_mime' }],
  ['/empty', { reason: 'no_file' }],
])('the failure of a fetch of %s that no client waits for is the failure of its job', async (path, details) => {
  const before = objectsIn(service.dataDir);
  const answer = await readAnswer(
    await post('/api/v1/convert', form({ url: base + path, to_format: 'html' }), { prefer: 'respond-async' }),
  );
  expect(await ended(answer.data?.job_id)).toMatchObject({ status: 500, error: { code: 'CONVERSION_FAILED', details } });
  await eventually(() => newObjects(before).length === 0, 'its file to be removed');
});

it('a fetch that outlasts the wait goes on', async () => {
  const answer = await ask(`${base}/held`);
  expect([answer.status, answer.data?.status]).toEqual([200, 'processing']);
  for (const response of held.splice(0)) response.end(TABLE);
  expect((await ended(answer.data?.job_id)).data?.status).toBe('done');
});

it('a refusal says whether the URL may be tried again', async () => {
  const retryable = async (url: string) => (await ask(url)).error?.details['retryable'];
  expect(await retryable(`${base}/broken`)).toBe(true);
  expect(await retryable(`${base}/nowhere`)).toBe(false);
  expect(await retryable('http://name.invalid/a.csv')).toBe(true);
  expect(await retryable('file:///etc/passwd')).toBe(false);
});

it('a job whose file is being fetched is cancelled like any other', async () => {
  const before = closed;
  const answer = await readAnswer(
    await post('/api/v1/convert', form({ url: `${base}/slow`, to_format: 'html' }), { prefer: 'respond-async' }),
  );
  await eventually(async () => (await jobOf(answer.data?.job_id)).data?.status === 'processing', 'the job');
  expect((await fetch(`${service.url}/api/v1/jobs/${answer.data?.job_id}`, { method: 'DELETE' })).status).toBe(204);
  await eventually(() => closed === before + 1, 'the download to end');
  expect((await jobOf(answer.data?.job_id)).status).toBe(410);
});

const newObjects = (before: readonly string[]): readonly string[] => newObjectsIn(service.dataDir, before);
const endedBatch = (id: string): Promise<object> =>
  eventually(async () => {
    const answer = await (await fetch(`${service.url}/api/v1/batches/${id}`)).json();
    const { data } = answer as { data: { overall_status: string } };
    return data.overall_status === 'processing' ? undefined : data;
  }, 'the batch to end');

it('of a batch, a URL that is refused fails alone', async () => {
  const body = form({ to_format: 'html' });
  for (const path of ['/table.csv', '/broken', '/large', '/named']) body.append('urls[]', base + path);
  const { data } = (await (await post('/api/v1/batch', body)).json()) as { data: { batch_id: string } };
  expect(await endedBatch(data.batch_id)).toMatchObject({
    counts: { total: 4, done: 2, failed: 2 },
    jobs: [
      { filename: 'table.csv', status: 'done' },
      {
        filename: 'broken',
        status: 'error',
        error: { code: 'URL_REFUSED', details: { reason: 'unreachable', status: 503, retryable: true } },
      },
      { filename: 'large', status: 'error', error: { code: 'FILE_TOO_LARGE', details: { max_bytes: 4_000 } } },
      { filename: 'prices 2026.csv', status: 'done' },
    ],
  });
});

it('a URL may come without a form', async () => {
  const url = `${base}/table.csv`;
  const json = { 'content-type': 'application/json' };
  const converted = await settled(await readAnswer(await post('/api/v1/convert', new URLSearchParams({ url, to_format: 'html' }))));
  expect(await output(converted)).toContain('kestrel');
  const again = await settled(await readAnswer(await post('/api/v1/convert', JSON.stringify({ url, to_format: 'html' }), json)));
  expect(await output(again)).toContain('kestrel');
  const batch = await post('/api/v1/batch', JSON.stringify({ urls: [url, `${base}/named`], to_format: 'html' }), json);
  const { data } = (await batch.json()) as { data: { batch_id: string } };
  expect(await endedBatch(data.batch_id)).toMatchObject({ counts: { total: 2, done: 2 } });
  expect(await readAnswer(await post('/api/v1/convert', JSON.stringify({ to_format: 'html' }), json))).toMatchObject({
    status: 400,
    error: { code: 'NO_FILE' },
  });
  expect(await readAnswer(await post('/api/v1/convert', '{"url":', json))).toMatchObject({ status: 400, error: { code: 'BAD_REQUEST' } });
});

it('a key finds the job whose file is still fetched', async () => {
  const headers = { 'idempotency-key': 'fetch-1', prefer: 'respond-async' };
  const once = () => post('/api/v1/convert', form({ url: `${base}/held`, to_format: 'html' }), headers).then(readAnswer);
  const [first, second] = [await once(), await once()];
  expect(second.data?.job_id).toBe(first.data?.job_id);
  await eventually(() => held.length === 1, 'the fetch');
  for (const response of held.splice(0)) response.end(TABLE);
  expect((await ended(first.data?.job_id)).data?.status).toBe('done');
});

it('a refusal within the wait leaves nothing, and its key is free', async () => {
  const before = objectsIn(service.dataDir);
  const headers = { 'idempotency-key': 'refused-1' };
  const asked = (path: string) => post('/api/v1/convert', form({ url: base + path, to_format: 'html' }), headers).then(readAnswer);
  expect((await asked('/noise')).status).toBe(415);
  expect(newObjects(before)).toEqual([]);
  expect((await settled(await asked('/table.csv'))).data?.status).toBe('done');
});

it('a client that hangs up ends the download, and nothing is left', async () => {
  const before = objectsIn(service.dataDir);
  const leaving = new AbortController();
  const asked = fetch(`${service.url}/api/v1/convert`, {
    method: 'POST',
    body: form({ url: `${base}/slow`, to_format: 'html' }),
    signal: leaving.signal,
  });
  await once(origin, 'request');
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await eventually(() => closed === 1 && newObjects(before).length === 0, 'the download to end');
});

it('a service that fetches nothing says that there is no file', async () => {
  const closedService = await startService({ fetch: { rest: false } });
  try {
    const body = form({ url: `${base}/table.csv`, to_format: 'html' });
    const answer = await readAnswer(await fetch(`${closedService.url}/api/v1/convert`, { method: 'POST', body }));
    expect(answer).toMatchObject({ status: 400, error: { code: 'NO_FILE' } });
    const sent = form({ file: new Blob([TABLE]), to_format: 'tsv' });
    const own = await readAnswer(await fetch(`${closedService.url}/api/v1/convert`, { method: 'POST', body: sent }));
    const next = form({ url: own.data?.output?.url ?? '', to_format: 'html' });
    expect(await readAnswer(await fetch(`${closedService.url}/api/v1/convert`, { method: 'POST', body: next }))).toMatchObject({
      status: 200,
    });
  } finally {
    await closedService.stop();
  }
});
