/** Uploads over HTTP: as a form and by tus, broken off and gone on with, used instead of files, bounded, deleted, expired; and what is left. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connectTo, eventually, objectsIn, raw } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { type ErrorBody, type JobBody, type Service, startService, untilEnded } from '../../kit/roles/service.ts';

const HOUR = 3_600_000;
const TABLE = 'name,size\nkestrel,7\nmerlin,5\n';
const UNKNOWN = `upl_${'0123456789abcdef'.repeat(2)}`;
const TYPE = 'application/offset+octet-stream';
const clock = { skew: 0 };

let origin: Server;
let base: string;
let service: Service;
beforeAll(async () => {
  origin = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    const named = /^\/(\w+)\.(csv|pdf)$/.exec(pathname);
    if (named === null) return void response.writeHead(404).end();
    response.end(named[2] === 'pdf' ? pdf([[String(named[1])]]) : `name\n${named[1]}\n`);
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const { port } = origin.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  service = await startService(
    {
      limits: { enabled: true, hourly: 1000, cooldownMs: 0, readsPerMinute: 10_000 },
      api: { maxFileBytes: 50_000, trustProxy: ['127.0.0.1'], paceWindowMs: 3_000, paceBytes: 10 },
      uploads: { maxPerClient: 4, maxBytesPerClient: 120_000 },
      fetch: { http: true, ports: [port], allow: ['127.0.0.1/32'] },
      upkeep: { intervalMs: 100 },
    },
    () => Date.now() + clock.skew,
  );
});
afterAll(async () => {
  await service?.stop();
  origin?.close();
});

/** Each test is another client: none meets the bounds of those before it. */
let client = '';
let clients = 0;
beforeEach(() => {
  client = `10.1.0.${++clients}`;
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: JobBody & { readonly upload_id: string; readonly batch_id: string; readonly [name: string]: unknown };
  readonly error?: ErrorBody;
}
const ALL = '/api/v1/uploads';
const at = (id: string) => `${ALL}/${id}`;
async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string | FormData): Promise<Answer> {
  const init = { method, headers: { 'x-forwarded-for': client, ...headers }, ...(body === undefined ? {} : { body }) };
  const response = await fetch(`${service.url}${path}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, ...(text === '' ? {} : JSON.parse(text)) };
}
const tus = (method: string, path: string, headers: Record<string, string> = {}, body?: string | FormData) =>
  ask(method, path, { 'tus-resumable': '1.0.0', ...headers }, body);
const create = async (length: number, headers: Record<string, string> = {}) =>
  (await tus('POST', ALL, { 'upload-length': String(length), ...headers })).data?.upload_id ?? '';
const patch = (id: string, offset: number, body: string, headers: Record<string, string> = {}) =>
  tus('PATCH', at(id), { 'upload-offset': String(offset), 'content-type': TYPE, ...headers }, body);
const offsetOf = async (id: string) => (await tus('HEAD', at(id))).headers.get('upload-offset');

/** A PATCH of the whole table, whose body the service is waiting for. */
async function beginPatch(id: string): Promise<Socket> {
  const socket = connectTo(service.url);
  const headers = [
    'Host: localhost',
    'Tus-Resumable: 1.0.0',
    'Upload-Offset: 0',
    `Content-Type: ${TYPE}`,
    `Content-Length: ${TABLE.length}`,
    'Expect: 100-continue',
  ];
  socket.write(`PATCH ${at(id)} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 100 /);
  return socket;
}

type Field = readonly [name: string, value: string | Blob, filename?: string];
function form(fields: readonly Field[]): FormData {
  const body = new FormData();
  for (const [name, value, filename] of fields) typeof value === 'string' ? body.append(name, value) : body.append(name, value, filename);
  return body;
}
const send = (path: string, ...fields: readonly Field[]) => ask('POST', path, {}, form(fields));
const upload = async (content: string | Buffer, filename: string) => {
  const answer = await send(ALL, ['file', new Blob([new Uint8Array(Buffer.from(content))]), filename]);
  expect(answer.status).toBe(201);
  return answer.data?.upload_id ?? '';
};
const output = async (job: JobBody | undefined) => Buffer.from(await (await fetch(job?.output?.url ?? '')).arrayBuffer());
const uploadsKept = () => objectsIn(service.dataDir).filter((path) => path.includes('/uploads/'));
const convert = (...fields: readonly Field[]) => send('/api/v1/convert', ['to_format', 'html'], ...fields);

describe('a form', () => {
  it('gives an upload that is used more than once, under the name it came by', async () => {
    const answer = await send(ALL, ['file', new Blob([TABLE]), 'birds.csv']);
    expect(answer).toMatchObject({
      status: 201,
      data: {
        upload_id: expect.stringMatching(/^upl_[0-9a-f]{32}$/),
        status: 'finished',
        filename: 'birds.csv',
        size_bytes: TABLE.length,
        received_bytes: TABLE.length,
      },
    });
    expect(answer.headers.get('location')).toBe(`${service.url}${at(answer.data?.upload_id ?? '')}`);
    for (let n = 0; n < 2; n++) {
      const { data } = await convert(['upload_id', answer.data?.upload_id ?? '']);
      expect(data).toMatchObject({ status: 'done', output: { filename: 'birds-filemill.html' } });
      expect((await output(data)).toString()).toContain('merlin');
      expect(data?.warnings).toEqual([]);
    }
    // Neither job has left a copy.
    expect(objectsIn(service.dataDir).filter((path) => path.includes('input'))).toEqual([]);
  });

  it.each<[string, Field[], number, string]>([
    ['without a file', [['to_format', 'html']], 400, 'NO_FILE'],
    ['with an empty file', [['file', new Blob([]), 'a.csv']], 400, 'NO_FILE'],
    [
      'with two files',
      [
        ['file', new Blob(['a']), 'a.csv'],
        ['file', new Blob(['b']), 'b.csv'],
      ],
      400,
      'BAD_REQUEST',
    ],
    ['that is too large', [['file', new Blob(['a'.repeat(50_001)]), 'a.csv']], 413, 'FILE_TOO_LARGE'],
  ])('%s is refused and costs nothing', async (_, fields, status, code) => {
    const before = uploadsKept();
    // More often than a client may have uploads.
    for (let n = 0; n < 6; n++) expect(await send(ALL, ...fields)).toMatchObject({ status, error: { code } });
    expect(uploadsKept()).toEqual(before);
    await upload('a', 'a.csv');
  });

  it('that is none is refused', async () =>
    expect(await ask('POST', ALL, { 'content-type': 'text/csv' }, TABLE)).toMatchObject({ status: 400, error: { code: 'NO_FILE' } }));
});

describe('tus', () => {
  it('says what it can', async () => {
    for (const path of [ALL, at(UNKNOWN)]) {
      const { status, headers } = await ask('OPTIONS', path);
      expect(status).toBe(204);
      expect(Object.fromEntries(headers)).toMatchObject({
        'tus-resumable': '1.0.0',
        'tus-version': '1.0.0',
        'tus-extension': 'creation,creation-with-upload,expiration,termination',
        'tus-max-size': '50000',
        'access-control-allow-origin': '*',
        'access-control-allow-methods': expect.stringContaining('PATCH'),
        'access-control-allow-headers': expect.stringMatching(/Tus-Resumable.*Upload-Offset/),
        'access-control-expose-headers': expect.stringMatching(/Location.*Upload-Offset/),
      });
    }
  });

  it('takes a file in pieces, says how far it is, and says again what came with it', async () => {
    const metadata = `filename ${Buffer.from('vögel.csv').toString('base64')},private`;
    const created = await tus('POST', ALL, { 'upload-length': String(TABLE.length), 'upload-metadata': metadata });
    const id = created.data?.upload_id ?? '';
    expect(created).toMatchObject({ status: 201, data: { status: 'uploading', filename: 'vögel.csv', received_bytes: 0 } });
    expect(created.headers.get('location')).toBe(`${service.url}${at(id)}`);
    expect(new Date(created.headers.get('upload-expires') ?? '').getTime()).toBeGreaterThan(Date.now() + HOUR - 60_000);
    const first = await patch(id, 0, TABLE.slice(0, 10));
    expect(first.status).toBe(204);
    expect(first.headers.get('upload-offset')).toBe('10');
    const head = await tus('HEAD', at(id));
    expect(head.status).toBe(200);
    expect(Object.fromEntries(head.headers)).toMatchObject({
      'tus-resumable': '1.0.0',
      'upload-offset': '10',
      'upload-length': String(TABLE.length),
      'upload-metadata': metadata,
      'cache-control': 'no-store',
    });
    expect((await patch(id, 10, TABLE.slice(10))).status).toBe(204);
    const { data } = await convert(['upload_id', id]);
    expect(data?.output?.filename).toBe('vögel-filemill.html');
    expect((await output(data)).toString()).toContain('merlin');
  });

  it('takes the file with its creation', async () => {
    const answer = await tus('POST', ALL, { 'upload-length': String(TABLE.length), 'content-type': TYPE }, TABLE);
    expect(answer).toMatchObject({ status: 201, data: { status: 'finished', received_bytes: TABLE.length } });
    expect(answer.headers.get('upload-offset')).toBe(String(TABLE.length));
    expect((await convert(['upload_id', answer.data?.upload_id ?? ''], ['from_format', 'csv'])).data?.status).toBe('done');
  });

  it('takes a POST for the method that it says it is', async () => {
    const id = await create(3);
    const meant = (method: string) => ({ 'x-http-method-override': method, 'upload-offset': '0', 'content-type': TYPE });
    expect((await tus('POST', at(id), meant('PATCH'), 'abc')).status).toBe(204);
    expect(await tus('POST', at(id), meant('GET'), 'abc')).toMatchObject({ status: 405, error: { code: 'METHOD_NOT_ALLOWED' } });
    expect((await tus('POST', at(id), meant('DELETE'))).status).toBe(204);
    expect(await patch(id, 3, '')).toMatchObject({ status: 404 });
  });

  it('keeps what came when the connection breaks', async () => {
    const id = await create(TABLE.length);
    const socket = await beginPatch(id);
    socket.end(TABLE.slice(0, 7));
    await eventually(async () => (await offsetOf(id)) === '7', 'the bytes to be kept');
    expect((await patch(id, 7, TABLE.slice(7))).status).toBe(204);
    expect((await output((await convert(['upload_id', id], ['from_format', 'csv'])).data)).toString()).toContain('merlin');
  });

  it('keeps what came of a body that trickles, and gives up on it', async () => {
    const id = await create(100);
    const answer = await raw(
      service.url,
      `PATCH ${at(id)} HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Type: ${TYPE}\r\nContent-Length: 100\r\n\r\nabc`,
      { end: false },
    );
    expect(answer.status).toBe(408);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'BODY_TIMEOUT' } });
    expect(answer.headers.get('upload-offset')).toBe('3');
    expect(await offsetOf(id)).toBe('3');
  });

  it('lets one of two write at a time: the later one takes over from where the first got to', async () => {
    const id = await create(TABLE.length);
    const slow = await beginPatch(id);
    let heard = '';
    slow.on('data', (chunk) => {
      heard += chunk.toString();
    });
    slow.write(TABLE.slice(0, 7));
    expect(await patch(id, 0, TABLE)).toMatchObject({
      status: 409,
      error: { code: 'UPLOAD_CONFLICT', details: { upload_id: id, received_bytes: 7, size_bytes: TABLE.length, retryable: true } },
    });
    await eventually(() => heard.includes('\r\n\r\n'), 'the first one to be answered');
    expect(heard).toMatch(/^HTTP\/1\.1 204 /);
    expect(heard.toLowerCase()).toContain('upload-offset: 7');
    slow.destroy();
    expect((await patch(id, 7, TABLE.slice(7))).status).toBe(204);
    expect((await output((await convert(['upload_id', id], ['from_format', 'csv'])).data)).toString()).toContain('merlin');
  });

  it('takes the same bytes once of many clients that send them at the same time', async () => {
    const id = await create(TABLE.length);
    const statuses = (await Promise.all(Array.from({ length: 6 }, () => patch(id, 0, TABLE)))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([204, 409, 409, 409, 409, 409]);
    expect(await offsetOf(id)).toBe(String(TABLE.length));
    expect((await output((await convert(['upload_id', id], ['from_format', 'csv'])).data)).toString().match(/merlin/g)).toHaveLength(1);
  });

  type Ask = (id: string) => Promise<Answer>;
  const refusals: Readonly<Record<string, readonly [Ask, number, string, object?]>> = {
    'a wrong offset': [(id) => patch(id, 3, 'abc'), 409, 'UPLOAD_CONFLICT', { received_bytes: 0, size_bytes: 10, retryable: true }],
    'an offset that is no number': [(id) => tus('PATCH', at(id), { 'upload-offset': '-1', 'content-type': TYPE }, 'a'), 400, 'BAD_REQUEST'],
    'no offset': [(id) => tus('PATCH', at(id), { 'content-type': TYPE }, 'a'), 400, 'BAD_REQUEST'],
    'bytes beyond the end': [(id) => patch(id, 0, 'a'.repeat(11)), 413, 'FILE_TOO_LARGE', { max_bytes: 10, received_bytes: 11 }],
    'another media type': [
      (id) => patch(id, 0, 'abc', { 'content-type': 'text/plain' }),
      415,
      'UNSUPPORTED_MIME',
      { detected: 'text/plain', accepted: [TYPE] },
    ],
    'an unknown upload': [() => patch(UNKNOWN, 0, 'abc'), 404, 'UPLOAD_NOT_FOUND', { upload_id: UNKNOWN }],
    'an id that is none': [() => patch('upl_1', 0, 'abc'), 404, 'UPLOAD_NOT_FOUND', { upload_id: 'upl_1' }],
    'another version': [
      (id) => tus('PATCH', at(id), { 'tus-resumable': '0.2.2', 'upload-offset': '0', 'content-type': TYPE }, 'a'),
      412,
      'PRECONDITION_FAILED',
      { header: 'Tus-Resumable', allowed: '1.0.0' },
    ],
    'no version': [
      (id) => ask('PATCH', at(id), { 'upload-offset': '0', 'content-type': TYPE }, 'a'),
      412,
      'PRECONDITION_FAILED',
      { header: 'Tus-Resumable', allowed: '1.0.0' },
    ],
    'no length': [() => tus('POST', ALL), 400, 'BAD_REQUEST'],
    'a length that is none': [() => tus('POST', ALL, { 'upload-length': '1e3' }), 400, 'BAD_REQUEST'],
    'a length to be told later': [
      () => tus('POST', ALL, { 'upload-defer-length': '1' }),
      501,
      'NOT_IMPLEMENTED',
      { slug: 'uploads', reason: expect.any(String) },
    ],
    'parts to be joined': [
      () => tus('POST', ALL, { 'upload-length': '10', 'upload-concat': 'partial' }),
      501,
      'NOT_IMPLEMENTED',
      { slug: 'uploads', reason: expect.any(String) },
    ],
    'a length beyond the limit': [
      () => tus('POST', ALL, { 'upload-length': '50001' }),
      413,
      'FILE_TOO_LARGE',
      { max_bytes: 50_000, received_bytes: 50_001 },
    ],
    'metadata that is none': [() => tus('POST', ALL, { 'upload-length': '1', 'upload-metadata': 'filename %%%' }), 400, 'BAD_REQUEST'],
    'a prototype for metadata': [() => tus('POST', ALL, { 'upload-length': '1', 'upload-metadata': '__proto__ YQ==' }), 400, 'BAD_REQUEST'],
    'too much metadata': [
      () => tus('POST', ALL, { 'upload-length': '1', 'upload-metadata': `filename ${'YWFh'.repeat(1_100)}` }),
      400,
      'BAD_REQUEST',
    ],
    'a method that is none': [(id) => tus('POST', at(id)), 405, 'METHOD_NOT_ALLOWED', { allowed: ['DELETE', 'HEAD', 'PATCH'] }],
  };
  it.each(Object.entries(refusals))('refuses %s in the words of every other refusal', async (_, [meet, status, code, details = {}]) => {
    const id = await create(10);
    const answer = await meet(id);
    expect(answer).toMatchObject({ status, error: { code, details: { ...details, request_id: answer.headers.get('x-request-id') } } });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('tus-resumable')).toBe('1.0.0');
    if (status === 412) expect(answer.headers.get('tus-version')).toBe('1.0.0');
    expect(await offsetOf(id)).toBe('0');
  });

  it('says that it does not know an upload without a body', async () => {
    const answer = await tus('HEAD', at(UNKNOWN));
    expect(answer.status).toBe(404);
    expect(answer.headers.get('tus-resumable')).toBe('1.0.0');
  });
});

describe('an upload', () => {
  it.each([
    ['plainly', {}],
    ['by tus', { 'tus-resumable': '1.0.0' }],
  ])('is deleted %s, with all that is kept of it', async (_, headers) => {
    const id = await upload(TABLE, 'a.csv');
    expect(uploadsKept().some((path) => path.includes(id))).toBe(true);
    expect((await ask('DELETE', at(id), headers)).status).toBe(204);
    expect(uploadsKept().some((path) => path.includes(id))).toBe(false);
    for (const answer of [await ask('DELETE', at(id), headers), await convert(['upload_id', id])])
      expect(answer).toMatchObject({ status: 404, error: { code: 'UPLOAD_NOT_FOUND', details: { upload_id: id } } });
  });

  it('expires an hour after its last byte, or two hours after it was finished', async () => {
    const [half, whole] = [await create(10), await upload(TABLE, 'a.csv')];
    await patch(half, 0, 'abc');
    const before = clock.skew;
    try {
      clock.skew = before + HOUR;
      expect(await patch(half, 3, 'def')).toMatchObject({ status: 404, error: { code: 'UPLOAD_NOT_FOUND' } });
      expect((await convert(['upload_id', whole])).status).toBe(200);
      clock.skew = before + 2 * HOUR;
      expect(await convert(['upload_id', whole])).toMatchObject({ status: 404, error: { code: 'UPLOAD_NOT_FOUND' } });
      await eventually(() => !uploadsKept().some((path) => path.includes(half) || path.includes(whole)), 'upkeep to remove the files');
    } finally {
      clock.skew = before;
    }
  });

  it('is one of a few that a client may have', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => create(10)));
    ids.push(await upload(TABLE, 'a.csv'));
    for (const answer of [await tus('POST', ALL, { 'upload-length': '1' }), await send(ALL, ['file', new Blob(['a']), 'a.csv'])]) {
      expect(answer).toMatchObject({
        status: 429,
        error: { code: 'RATE_LIMITED', details: { tier: 'uploads', limit: 4, reset_seconds: expect.any(Number), rejections_last_hour: 0 } },
      });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(3_000);
    }
    const own = client;
    client = '10.2.0.1';
    await create(10);
    client = own;
    await ask('DELETE', at(ids[0] ?? ''));
    expect(await create(10)).toMatch(/^upl_/);
  });

  it('counts by its whole size from the beginning', async () => {
    for (let n = 0; n < 2; n++) await create(50_000);
    expect(await tus('POST', ALL, { 'upload-length': '20001' })).toMatchObject({
      status: 429,
      error: { code: 'RATE_LIMITED', details: { tier: 'upload_bytes', limit: 120_000 } },
    });
    await create(20_000);
  });

  it('costs no share of the limits', async () => {
    await upload(TABLE, 'a.csv');
    const { data } = await ask('GET', '/api/v1/limits');
    expect(data).toMatchObject({ tiers: { daily: { used: 0 }, hourly: { used: 0 } } });
  });

  it('that is not finished is no file yet', async () => {
    const id = await create(10);
    await patch(id, 0, 'abc');
    expect(await convert(['upload_id', id])).toMatchObject({
      status: 409,
      error: { code: 'UPLOAD_CONFLICT', details: { upload_id: id, received_bytes: 3, size_bytes: 10 } },
    });
  });

  it('that is empty is no file either', async () =>
    expect(await convert(['upload_id', await create(0)])).toMatchObject({ status: 400, error: { code: 'NO_FILE' } }));
});

describe('instead of files', () => {
  const pages = async (...names: string[]) => Promise.all(names.map((name) => upload(pdf([[name]]), `${name}.pdf`)));
  const merged = async (field: string, values: readonly string[]) => {
    const answer = await send('/api/v1/tools/merge-pdf', ...values.map((value): Field => [field, value]));
    const ended = answer.data?.status === 'processing' ? await untilEnded(service.url, answer.data.job_id) : answer;
    expect(ended.data?.status).toBe('done');
    expect(ended.data?.warnings).toEqual([]);
    const { data } = await send(
      '/api/v1/convert',
      ['file', new Blob([new Uint8Array(await output(ended.data))]), 'm.pdf'],
      ['to_format', 'txt'],
    );
    return (await output(data)).toString().split(/\s+/).filter(Boolean);
  };

  it.each(['upload_ids[]', 'upload_ids'])('a tool takes uploads in the order of %s, one of them twice', async (field) => {
    const [a = '', b = '', c = ''] = await pages('alpha', 'beta', 'gamma');
    expect(await merged(field, [c, a, b, a])).toEqual(['gamma', 'alpha', 'beta', 'alpha']);
  });

  it('a tool takes URLs in their order', async () =>
    expect(
      await merged(
        'urls[]',
        ['delta', 'alpha', 'gamma', 'beta'].map((name) => `${base}/${name}.pdf`),
      ),
    ).toEqual(['delta', 'alpha', 'gamma', 'beta']));

  it('a tool of one file takes an upload', async () => {
    const [id = ''] = await pages('alpha');
    expect((await send('/api/v1/tools/compress-pdf', ['upload_id', id])).data).toMatchObject({
      status: 'done',
      output: { filename: 'alpha-filemill.pdf' },
    });
  });

  const untilDone = async (answer: Answer) => {
    expect(answer.status).toBe(200);
    return eventually(async () => {
      const { data } = await ask('GET', `/api/v1/batches/${answer.data?.batch_id}`);
      return data?.['overall_status'] === 'processing' ? undefined : data;
    }, 'the batch to end');
  };

  it('a batch takes uploads, and says of each what came of it', async () => {
    const ids = [
      await upload(TABLE, 'one.csv'),
      await upload(Buffer.from([0, 1, 2, 250]), 'noise.csv'),
      await upload('a\nowl\n', 'two.csv'),
    ];
    const data = await untilDone(await send('/api/v1/batch', ['to_format', 'html'], ...ids.map((id): Field => ['upload_ids[]', id])));
    expect(data).toMatchObject({
      overall_status: 'failed',
      counts: { total: 3, done: 2, failed: 1 },
      jobs: [
        { filename: 'one.csv', status: 'done' },
        { filename: 'noise.csv', status: 'error', error: { code: 'UNSUPPORTED_MIME' } },
        { filename: 'two.csv', status: 'done' },
      ],
    });
    const zip = await unzip(Buffer.from(await (await fetch(`${service.url}/api/v1/batches/${data['batch_id']}/output`)).arrayBuffer()));
    expect(zip.get('two-filemill.html')?.toString()).toContain('owl');
  });

  it('a batch takes URLs, and counts each', async () => {
    const names = ['ant', 'bee', 'cat', 'dog', 'eel'];
    const urls = names.map((name): Field => ['urls[]', `${base}/${name}.csv`]);
    const data = await untilDone(await send('/api/v1/batch', ['to_format', 'html'], ...urls));
    expect(data).toMatchObject({ overall_status: 'done', jobs: names.map((name) => ({ filename: `${name}.csv` })) });
    expect((await ask('GET', '/api/v1/limits')).data).toMatchObject({ tiers: { daily: { used: 5 }, hourly: { used: 1 } } });
  });

  const csv: Field = ['file', new Blob([TABLE]), 'a.csv'];
  const several: Field = ['files[]', new Blob([TABLE]), 'a.csv'];
  const html: Field = ['to_format', 'html'];
  /** Below the origin, which has no address yet. */
  const url = (name: string, field = 'urls[]'): Field => [field, `@/${name}`];
  it.each<[string, string, Field[], number, string, object]>([
    ['a file and an upload', '/api/v1/convert', [html, csv, ['upload_id', UNKNOWN]], 400, 'BAD_REQUEST', { fields: ['upload_id'] }],
    [
      'a URL and an upload',
      '/api/v1/convert',
      [html, url('a.csv', 'url'), ['upload_id', UNKNOWN]],
      400,
      'BAD_REQUEST',
      { fields: ['url', 'upload_id'] },
    ],
    ['files and URLs', '/api/v1/batch', [html, several, url('a.csv')], 400, 'BAD_REQUEST', { fields: ['urls[]'] }],
    [
      'URLs and uploads',
      '/api/v1/tools/merge-pdf',
      [url('a.pdf'), ['upload_ids[]', UNKNOWN]],
      400,
      'BAD_REQUEST',
      { fields: ['urls[]', 'upload_ids[]'] },
    ],
    ['an unknown upload', '/api/v1/convert', [html, ['upload_id', UNKNOWN]], 404, 'UPLOAD_NOT_FOUND', { upload_id: UNKNOWN }],
    [
      'an unknown upload among others',
      '/api/v1/batch',
      [html, ['upload_ids[]', 'upl_*'], ['upload_ids[]', UNKNOWN]],
      404,
      'UPLOAD_NOT_FOUND',
      { upload_id: 'upl_*' },
    ],
    [
      'a refused URL among others',
      '/api/v1/tools/merge-pdf',
      [url('alpha.pdf'), url('nothing'), url('beta.pdf')],
      400,
      'URL_REFUSED',
      { url_index: 1, status: 404 },
    ],
    [
      'a local file among others',
      '/api/v1/tools/merge-pdf',
      [url('a.pdf'), ['urls[]', 'file:///b.pdf']],
      400,
      'URL_REFUSED',
      { url_index: 1, reason: 'scheme' },
    ],
    [
      'more uploads than a batch takes',
      '/api/v1/batch',
      [html, ...Array.from({ length: 21 }, (): Field => ['upload_ids[]', UNKNOWN])],
      400,
      'BATCH_TOO_LARGE',
      { max_files: 20, received_files: 21 },
    ],
    [
      'more URLs than a tool takes',
      '/api/v1/tools/merge-pdf',
      Array.from({ length: 21 }, () => url('a.pdf')),
      400,
      'BATCH_TOO_LARGE',
      { max_files: 20, received_files: 21 },
    ],
    ['too few', '/api/v1/tools/merge-pdf', [url('a.pdf')], 400, 'BAD_REQUEST', {}],
    ['empty fields', '/api/v1/convert', [html, ['upload_id', ' '], ['url', '']], 400, 'NO_FILE', {}],
  ])('%s: refused, and nothing is left', async (_, path, fields, status, code, details) => {
    const inputs = () => objectsIn(service.dataDir).filter((each) => each.includes('input'));
    await eventually(() => inputs().length === 0, 'what is left of earlier jobs to go');
    const located = fields.map(
      ([name, value, ...rest]): Field => [name, typeof value === 'string' ? value.replace('@', base) : value, ...rest],
    );
    expect(await send(path, ...located)).toMatchObject({ status, error: { code, details } });
    expect(inputs()).toEqual([]);
  });
});
