/** Files named by a URL instead of being sent: over HTTP, from servers of the test's own. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, readAnswer, type Service, startService } from '../kit/service.ts';
import { eventually, objectsIn } from '../kit/wire.ts';

const TABLE = 'name,size\nkestrel,7\n';
let origin: Server;
let base: string;
let service: Service;
let closed = 0;

beforeAll(async () => {
  origin = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    if (pathname === '/table.csv') return void response.end(TABLE);
    if (pathname === '/named') return void response.setHeader('content-disposition', 'attachment; filename="prices 2026.csv"').end(TABLE);
    if (pathname === '/moved') return void response.writeHead(302, { location: '/table.csv' }).end();
    if (pathname === '/away') return void response.writeHead(302, { location: 'http://10.0.0.1/table.csv' }).end();
    if (pathname === '/empty') return void response.end();
    if (pathname === '/noise') return void response.end(Buffer.from([0, 1, 2, 250, 3, 9]));
    if (pathname === '/large') return void response.end(Buffer.alloc(5_000, 97));
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
    api: { maxFileBytes: 4_000 },
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
  const answer = await ask(base + path);
  expect(answer.data?.output?.filename).toBe(filename);
  expect(answer.data?.warnings.map(({ code }) => code)).toEqual(['lossy']);
  expect(await output(answer)).toContain('kestrel');
});

it.each([
  ['an address that is not public', 'http://10.0.0.1/table.csv', 400, 'URL_REFUSED', { reason: 'address' }],
  ['a redirect to one', '/away', 400, 'URL_REFUSED', { reason: 'address' }],
  ['a local file', 'file:///etc/passwd', 400, 'URL_REFUSED', { reason: 'scheme' }],
  ['a port of somebody else', 'http://127.0.0.1:22/', 400, 'URL_REFUSED', { reason: 'port' }],
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

it('a file and a URL together are refused', async () => {
  const answer = await ask(`${base}/table.csv`, { file: new Blob([TABLE]) });
  expect(answer).toMatchObject({ status: 400, error: { code: 'BAD_REQUEST' } });
});

it('whoever goes away ends the download, and leaves nothing', async () => {
  const before = objectsIn(service.dataDir).length;
  const leaving = new AbortController();
  const asked = fetch(`${service.url}/api/v1/convert`, {
    method: 'POST',
    body: form({ url: `${base}/slow`, to_format: 'html' }),
    signal: leaving.signal,
  });
  await once(origin, 'request');
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await eventually(() => closed === 1 && objectsIn(service.dataDir).length === before, 'the download to end');
});

it('a service that fetches nothing says that there is no file', async () => {
  const closedService = await startService({ fetch: { rest: false } });
  try {
    const body = form({ url: `${base}/table.csv`, to_format: 'html' });
    const answer = await readAnswer(await fetch(`${closedService.url}/api/v1/convert`, { method: 'POST', body }));
    expect(answer).toMatchObject({ status: 400, error: { code: 'NO_FILE' } });
  } finally {
    await closedService.stop();
  }
});
