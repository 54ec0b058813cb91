/** The service as HTTP: every error by its code, the headers of every answer, methods, what is no HTTP, links, and what the log says of it all. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Code, errorTable } from '../../../src/errors.ts';
import { type Receiver, startReceiver } from '../../kit/api/receiver.ts';
import { connectTo, END, eventually, FORM, field, file, objectsIn, raw, rawForm, storedIn } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import {
  type Answer,
  convert,
  endProcess,
  readAnswer,
  type Service,
  settled,
  startProcess,
  startService,
} from '../../kit/roles/service.ts';

const TABLE = { name: 'table.csv', bytes: Buffer.from('name,size\nkestrel,7\n') };
/** Recognised as sound, and as no more than that. */
const WAVE = { name: 'sound.wav', bytes: Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0', 'latin1'), Buffer.alloc(2_000)]) };
const UNKNOWN_ID = '0123456789abcdef0123456789abcdef';

/** No worker converts media here: such jobs stay queued. A body that stands still for some seconds is given up, a file may have 20,000 bytes. */
const SETTINGS = {
  api: { paceWindowMs: 4_000, maxFileBytes: 20_000, allowedHosts: ['mill.example'] },
  worker: { slots: { media: 0 } },
  upkeep: { queueCapacity: 1 },
};

/** The same for everybody behind a proxy, who may make one request an hour. */
const STRICT = { ...SETTINGS, limits: { cooldownMs: 3_600_000 }, api: { ...SETTINGS.api, trustProxy: ['127.0.0.0/8'] } };

let service: Service;
let strictService: Service;
/** Takes no result. */
let refusing: Receiver;
beforeAll(async () => {
  const now = Date.now();
  refusing = await startReceiver();
  refusing.answer('/result', 403);
  [service, strictService] = await Promise.all([
    startService({ ...SETTINGS, fetch: { http: true, ports: [refusing.port, 443], allow: ['127.0.0.2/32'] } }),
    startService(STRICT, () => now),
  ]);
});
afterAll(() => Promise.all([service.stop(), strictService.stop(), refusing.close()]));
const strict = (client: string) => convert(strictService.url, TABLE, 'html', {}, { 'x-forwarded-for': client });

const get = async (path: string, init: RequestInit = {}) => readAnswer(await fetch(`${service.url}${path}`, init));
const uploads = (method: string, path: string, headers: Record<string, string> = {}) =>
  get(`/api/v1/uploads${path}`, { method, headers: { 'tus-resumable': '1.0.0', ...headers } });
const queued = () => convert(service.url, WAVE, 'mp3', {}, { prefer: 'respond-async' });
const remove = (id: string) => fetch(`${service.url}/api/v1/jobs/${id}`, { method: 'DELETE' });

/** What an assistant's client is refused with has our error inside the protocol's. */
const mcp = async (host: string, accept: string): Promise<Answer> => {
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nAccept: ${accept}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  const { status, headers, body } = await raw(service.url, head);
  const { error } = JSON.parse(body) as { error: { data: Answer['error'] } };
  return { status, headers, data: undefined, error: error.data };
};

async function made(): Promise<string> {
  const { data } = await convert(service.url, TABLE, 'html');
  expect(data?.status).toBe('done');
  return data?.job_id ?? '';
}

describe('every error', () => {
  /** A way to meet each code, and what its answer holds beyond code, status and sentence. */
  const ways: Readonly<
    Record<Code, { readonly meet: () => Promise<Answer>; readonly details?: object; readonly headers?: Record<string, string> }>
  > = {
    NO_FILE: { meet: () => get('/api/v1/convert', { method: 'POST', body: new FormData() }) },
    BAD_REQUEST: { meet: () => fromRaw(field('to_format', 'html') + file('a.csv', 'a,b') + file('b.csv', 'a,b') + END) },
    INVALID_FORMAT: {
      meet: () => convert(service.url, TABLE, 'mp3'),
      details: { from: 'csv', to_format: 'mp3', targets: expect.arrayContaining(['html']) },
    },
    INVALID_OPTION: {
      meet: () => convert(service.url, TABLE, 'html', { img_quality: '101' }),
      details: { option: 'img_quality', received: '101', allowed: 'integer, 0 to 100' },
    },
    BATCH_TOO_LARGE: {
      meet: () => {
        const body = new FormData();
        for (let n = 0; n < 23; n++) body.append('files[]', new Blob(['%PDF-1.4']), `${n}.pdf`);
        return get('/api/v1/tools/merge-pdf', { method: 'POST', body });
      },
      details: { max_files: 20, received_files: 23 },
    },
    URL_REFUSED: {
      meet: () => {
        const body = new FormData();
        body.set('url', 'https://127.0.0.1/table.csv');
        body.set('to_format', 'html');
        return get('/api/v1/convert', { method: 'POST', body });
      },
      details: { reason: 'address' },
    },
    OUTPUT_NOT_STORED: {
      meet: () => convert(service.url, TABLE, 'tsv', { output_url: `http://127.0.0.2:${refusing.port}/result` }),
      details: { status: 403, attempts: 1, job_id: expect.stringMatching(/^[0-9a-f]{32}$/) },
    },
    RATE_LIMITED: {
      meet: async () => {
        await strict('10.0.0.1');
        return strict('10.0.0.1');
      },
      details: { tier: 'cooldown', limit: 1, reset_seconds: 3_600, rejections_last_hour: 1 },
      headers: { 'retry-after': '3600' },
    },
    BANNED: {
      meet: async () => {
        for (let n = 0; n < 12; n++) await strict('10.0.0.2');
        return strict('10.0.0.2');
      },
      details: { ban_expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
      headers: { 'retry-after': '86400' },
    },
    FORBIDDEN: { meet: () => mcp('elsewhere.test', '*/*') },
    NOT_ACCEPTABLE: { meet: () => mcp('localhost', 'text/html') },
    NOT_IMPLEMENTED: {
      meet: () => get('/api/v1/tools/flip-image', { method: 'POST', body: new FormData() }),
      details: { slug: 'flip-image', reason: 'use rotate-image with flip-h or flip-v' },
    },
    JOB_NOT_FOUND: { meet: () => get(`/api/v1/jobs/${UNKNOWN_ID}`) },
    UPLOAD_NOT_FOUND: { meet: () => uploads('DELETE', `/upl_${UNKNOWN_ID}`), details: { upload_id: `upl_${UNKNOWN_ID}` } },
    UPLOAD_CONFLICT: {
      meet: async () => {
        const path = new URL((await uploads('POST', '', { 'upload-length': '9' })).headers.get('location') ?? '').pathname.slice(15);
        return uploads('PATCH', path, { 'upload-offset': '5', 'content-type': 'application/offset+octet-stream' });
      },
      details: { upload_id: expect.any(String), received_bytes: 0, size_bytes: 9 },
    },
    PRECONDITION_FAILED: {
      meet: () => uploads('PATCH', `/upl_${UNKNOWN_ID}`, { 'tus-resumable': '0.9' }),
      details: { header: 'Tus-Resumable', allowed: '1.0.0' },
      headers: { 'tus-version': '1.0.0' },
    },
    NOT_FOUND: { meet: () => get('/api/v2/convert') },
    METHOD_NOT_ALLOWED: { meet: () => get('/api/v1/convert'), details: { allowed: ['POST'] }, headers: { allow: 'POST' } },
    BODY_TIMEOUT: { meet: () => fromRaw(field('to_format', 'html'), 5_000), headers: { connection: 'close' } },
    JOB_NOT_READY: {
      meet: async () => {
        const id = (await queued()).data?.job_id ?? '';
        const answer = await get(`/api/v1/jobs/${id}/output`);
        expect(answer.error?.details['job_id']).toBe(id);
        await remove(id);
        return answer;
      },
      headers: { 'retry-after': '1' },
    },
    JOB_EXPIRED: {
      meet: async () => {
        const id = await made();
        await remove(id);
        return get(`/api/v1/jobs/${id}`);
      },
    },
    FILE_TOO_LARGE: {
      meet: () => convert(service.url, { name: 'a.csv', bytes: Buffer.alloc(20_001, 'a') }, 'html'),
      details: { max_bytes: 20_000, received_bytes: 20_001 },
    },
    UNSUPPORTED_MIME: {
      meet: () =>
        convert(service.url, { name: 'report.docx', bytes: Buffer.from(`\x7fELF\x02\x01\x01${'\0'.repeat(200)}`, 'latin1') }, 'pdf'),
      details: { detected: expect.any(String), accepted: expect.arrayContaining(['image']) },
    },
    RANGE_NOT_SATISFIABLE: {
      meet: async () => get(`/api/v1/jobs/${await made()}/output`, { headers: { range: 'bytes=1000000-' } }),
      details: { size_bytes: expect.any(Number) },
      headers: { 'content-range': expect.stringMatching(/^bytes \*\/\d+$/) },
    },
    IDEMPOTENCY_MISMATCH: {
      meet: async () => {
        const headers = { 'idempotency-key': 'one' };
        await convert(service.url, TABLE, 'html', {}, headers);
        return convert(service.url, TABLE, 'txt', {}, headers);
      },
    },
    CONVERSION_FAILED: {
      meet: () =>
        convert(
          service.url,
          { name: 'a.png', bytes: Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02', 'latin1') },
          'jpg',
        ),
      details: { job_id: expect.stringMatching(/^[0-9a-f]{32}$/), engine: 'libvips (sharp)', reason: 'corrupt_input' },
    },
    INTERNAL_ERROR: {
      meet: async () => {
        const id = await made();
        const database = new DatabaseSync(join(service.dataDir, 'filemill.db'));
        database.prepare(`UPDATE jobs SET record = '{"secret": 1' WHERE id = ?`).run(id);
        const answer = await get(`/api/v1/jobs/${id}`);
        database.prepare('DELETE FROM jobs WHERE id = ?').run(id);
        database.close();
        return answer;
      },
    },
    OVERLOADED: {
      meet: async () => {
        const first = (await queued()).data?.job_id ?? '';
        const before = { objects: objectsIn(service.dataDir), stored: storedIn(service.dataDir) };
        const answer = await queued();
        expect({ objects: objectsIn(service.dataDir), stored: storedIn(service.dataDir) }).toEqual(before);
        await remove(first);
        return answer;
      },
      headers: { 'retry-after': '5' },
    },
  };

  async function fromRaw(body: string, length?: number): Promise<Answer> {
    const answer = await rawForm(service.url, body, length);
    return { ...answer, data: undefined, error: (JSON.parse(answer.body) as { error: NonNullable<Answer['error']> }).error };
  }

  for (const [code, { meet, details = {}, headers = {} }] of Object.entries(ways)) {
    it(`answers ${code} in the documented shape`, async () => {
      const { status, headers: sent, error } = await meet();
      const row = errorTable[code as Code];
      expect(error).toEqual({
        code,
        message: expect.stringMatching(/^[A-Z].{5,}\.$/),
        details: expect.objectContaining({ ...details, request_id: sent.get('x-request-id'), retryable: row.retryable }),
      });
      expect(status).toBe(row.status);
      expect(Object.fromEntries(sent)).toMatchObject({
        ...headers,
        'content-type': 'application/json; charset=utf-8',
        'access-control-allow-origin': '*',
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      expect(error?.message).not.toMatch(/\/(tmp|var|usr|work)|node:|secret|SQLITE|JSON/);
    });
  }

  it('is in the documentation as it is in the table', async () => {
    const page = await readFile(join(import.meta.dirname, '../../../docs/errors.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `([A-Z_]+)` +\| (\d{3}) +\| (yes|no) +\| (.+?) +\|$/gm)].map(([, ...cells]) => cells);
    expect(documented).toEqual(
      Object.entries(errorTable).map(([code, { status, retryable, says }]) => [code, String(status), retryable ? 'yes' : 'no', says]),
    );
  });

  it('of a failed job stays with the job, beside its links', async () => {
    const form = new FormData();
    form.set('to_format', 'jpg');
    form.set('file', new Blob([Buffer.from('GIF89a\x10\0\x10\0', 'latin1')]), 'a.gif');
    const posted = (await (await fetch(`${service.url}/api/v1/convert`, { method: 'POST', body: form })).json()) as Failed;
    const id = posted.error.details.job_id;
    const links = { self: `${service.url}/api/v1/jobs/${id}`, output: `${service.url}/api/v1/jobs/${id}/output` };
    for (const path of [links.self, links.output]) {
      const response = await fetch(path);
      expect(response.status).toBe(500);
      expect(await response.json()).toEqual({
        error: { ...posted.error, details: { ...posted.error.details, request_id: response.headers.get('x-request-id') } },
        data: { job_id: id, status: 'error', links },
      });
    }
  });
  interface Failed {
    readonly error: { readonly details: { readonly job_id: string } };
  }
});

describe('a request id', () => {
  it('is kept where it is harmless', async () => {
    const { headers } = await get('/livez', { headers: { 'x-request-id': 'trace-7.a_B' } });
    expect(headers.get('x-request-id')).toBe('trace-7.a_B');
  });
  for (const [sentence, sent] of Object.entries({
    'with spaces': 'a b',
    'with a quote': 'a"b',
    'that is empty': '',
    'of 65 characters': 'a'.repeat(65),
  })) {
    it(`${sentence} is replaced`, async () => {
      const { headers } = await get('/livez', { headers: { 'x-request-id': sent } });
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    });
  }
});

describe('a page of another origin', () => {
  it('may do what the service offers, on its preflight', async () => {
    const response = await fetch(`${service.url}/api/v1/convert`, {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'prefer' },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, PATCH, DELETE');
    expect(response.headers.get('access-control-allow-headers')).toMatch(/\bAuthorization\b.*\bPrefer\b.*\bRange\b/);
    expect(response.headers.get('access-control-max-age')).toBe('86400');
  });
  it('may read the documented headers', async () => {
    const { headers } = await get('/livez', { headers: { origin: 'https://page.example' } });
    for (const name of ['X-Request-Id', 'Retry-After', 'Location', 'ETag', 'Content-Disposition', 'Content-Range', 'Accept-Ranges'])
      expect(headers.get('access-control-expose-headers')?.split(', ')).toContain(name);
  });
});

describe('the root', () => {
  it('links to everything, and shows a browser the page', async () => {
    const { data } = (await (await fetch(`${service.url}/`)).json()) as { data: { links: Readonly<Record<string, string>> } };
    expect(data).toEqual(((await (await fetch(`${service.url}/api/v1`)).json()) as { data: object }).data);
    for (const name of ['docs', 'openapi', 'formats', 'tools', 'limits', 'health'])
      expect((await fetch(data.links[name] ?? '')).status, name).toBe(200);
    const browser = await fetch(`${service.url}/`, { headers: { accept: 'text/html,application/xhtml+xml' }, redirect: 'manual' });
    expect([browser.status, browser.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(browser.headers.get('vary')).toBe('Accept, Accept-Language, Accept-Encoding');
  });
});

describe('what is no proper HTTP', () => {
  const host = 'Host: localhost\r\n';
  const convertHead = `POST /api/v1/convert HTTP/1.1\r\n${host}Content-Type: ${FORM}\r\n`;
  const cases: Readonly<Record<string, readonly [sent: string, status: number, code: Code]>> = {
    'a length and chunks at once': [`${convertHead}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400, 'BAD_REQUEST'],
    'two lengths': [`${convertHead}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde`, 400, 'BAD_REQUEST'],
    'a length that is no number': [`${convertHead}Content-Length: five\r\n\r\nabcde`, 400, 'BAD_REQUEST'],
    'a chunk without a size': [`${convertHead}Transfer-Encoding: chunked\r\n\r\n5\r\n--bet\r\nzz\r\n`, 400, 'BAD_REQUEST'],
    'a header name with a space': [`GET /livez HTTP/1.1\r\n${host}Bad Header: x\r\n\r\n`, 400, 'BAD_REQUEST'],
    'a folded header': [`GET /livez HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`, 400, 'BAD_REQUEST'],
    'bare line feeds': ['GET /livez HTTP/1.1\nHost: localhost\n\n', 400, 'BAD_REQUEST'],
    'no Host': ['GET /livez HTTP/1.1\r\n\r\n', 400, 'BAD_REQUEST'],
    'an unknown method': [`MILL /livez HTTP/1.1\r\n${host}\r\n`, 400, 'BAD_REQUEST'],
    'a TLS hello': ['\x16\x03\x01\x02\0\x01\0\x01\xfc\r\n\r\n', 400, 'BAD_REQUEST'],
    'a header of a megabyte': [`GET /livez HTTP/1.1\r\n${host}X: ${'a'.repeat(1 << 20)}\r\n\r\n`, 431, 'BAD_REQUEST'],
    'an address that cannot be decoded': [`GET /api/v1/jobs/%zz HTTP/1.1\r\n${host}\r\n`, 404, 'NOT_FOUND'],
    'an address of 20 kB': [`GET /api/v1/jobs/${'a'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`, 404, 'NOT_FOUND'],
    'a tunnel': [`CONNECT example.com:443 HTTP/1.1\r\n${host}\r\n`, 405, 'METHOD_NOT_ALLOWED'],
  };
  for (const [sentence, [sent, status, code]] of Object.entries(cases)) {
    it(`(${sentence}) gets the envelope`, async () => {
      const answer = await raw(service.url, Buffer.from(sent, 'latin1'));
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.body)).toMatchObject({ error: { code, details: { request_id: answer.headers.get('x-request-id') } } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
    });
  }

  it('never looks like a part of an answer that has begun', async () => {
    const lines = Array.from({ length: 1_500 }, (_, row) => `${row},kestrel`).join('\n');
    const { data } = await convert(service.url, { name: 'a.csv', bytes: Buffer.from(lines) }, 'html');
    const socket = connectTo(service.url);
    let text = '';
    socket.on('data', (chunk) => {
      if (text === '') socket.write('NO HTTP AT ALL\r\n\r\n');
      text += chunk.toString('latin1');
    });
    socket.write(`GET /api/v1/jobs/${data?.job_id}/output HTTP/1.1\r\n${host}\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    expect(body.slice(0, data?.output?.size_bytes)).not.toContain('BAD_REQUEST');
  });
});

describe('an address', () => {
  const cases: Readonly<Record<string, readonly [method: string, path: string, status: number, allow: string | null]>> = {
    'with another method tells those it takes': ['PUT', `/api/v1/jobs/${UNKNOWN_ID}`, 405, 'DELETE, GET, HEAD'],
    'of an output takes no POST': ['POST', `/api/v1/jobs/${UNKNOWN_ID}/output`, 405, 'GET, HEAD'],
    'is the same with a slash behind it': ['GET', `/api/v1/jobs/${UNKNOWN_ID}/`, 404, null],
    'in capitals is another': ['GET', '/API/V1/HEALTH', 404, null],
    'that leads upwards leads nowhere': ['GET', '/api/v1/jobs/..%2f..%2fhealth', 404, null],
  };
  for (const [sentence, [method, path, status, allow]] of Object.entries(cases)) {
    it(sentence, async () => {
      const response = await fetch(`${service.url}${path}`, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
      expect(((await response.json()) as { error: object }).error).toMatchObject({ details: { retryable: false } });
    });
  }

  for (const id of [
    '0123456789abcdef0123456789abcde',
    `${UNKNOWN_ID}0`,
    UNKNOWN_ID.toUpperCase(),
    `${UNKNOWN_ID.slice(1)}g`,
    '%27%20OR%201=1--',
    '*',
    '%00',
    '__proto__',
  ]) {
    it(`of a job with the id ${id} is like that of one that never was`, async () => {
      const [there, here] = [await get(`/api/v1/jobs/${UNKNOWN_ID}`), await get(`/api/v1/jobs/${id}`)];
      const { request_id: _, ...details } = here.error?.details ?? { request_id: '' };
      expect([here.status, here.error?.code, here.error?.message, details]).toEqual([
        404,
        'JOB_NOT_FOUND',
        there.error?.message,
        { retryable: false },
      ]);
      const deleted = await readAnswer(await remove(id));
      expect([deleted.status, deleted.error?.code]).toEqual([404, 'JOB_NOT_FOUND']);
    });
  }

  it('of the document below the API leads to it', async () => {
    const found = await fetch(`${service.url}/api/v1/openapi.json`);
    expect([found.redirected, found.url, ((await found.json()) as { openapi: string }).openapi]).toEqual([
      true,
      `${service.url}/openapi.json`,
      expect.stringMatching(/^3\.1/),
    ]);
  });

  it('answers HEAD like GET, without the body', async () => {
    for (const path of [
      '/',
      '/api/v1',
      '/docs',
      '/openapi.json',
      '/api/v1/tools',
      '/api/v1/health',
      '/livez',
      `/api/v1/jobs/${UNKNOWN_ID}`,
    ]) {
      const [head, full] = [await fetch(`${service.url}${path}`, { method: 'HEAD' }), await fetch(`${service.url}${path}`)];
      expect([head.status, head.headers.get('content-type')]).toEqual([full.status, full.headers.get('content-type')]);
      expect(await head.text()).toBe('');
    }
  });
});

describe('the state of the service', () => {
  it('names engines, versions and queues', async () => {
    const { data } = (await (await fetch(`${service.url}/api/v1/health`)).json()) as { data: Record<string, unknown> };
    expect(data).toMatchObject({
      status: 'ok',
      missing: [],
      version: '0.0.0',
      uptime_seconds: expect.any(Number),
      engines: Object.fromEntries(
        ['image', 'audio_video', 'pdf', 'office', 'ocr'].map((role) => [
          role,
          expect.objectContaining({
            name: expect.any(String),
            version: expect.stringMatching(/\d/),
            available: true,
            seen_at: expect.stringMatching(/Z$/),
          }),
        ]),
      ),
      queue: expect.objectContaining({ media: { waiting: 0, running: 0, workers: 0 } }),
    });
  });
  it('counts what waits', async () => {
    const id = (await queued()).data?.job_id ?? '';
    const queues = async () => ((await (await fetch(`${service.url}/api/v1/health`)).json()) as { data: { queue: object } }).data.queue;
    // The queues of the test before may still be shown for a second.
    await expect.poll(queues, { timeout: 5_000 }).toMatchObject({ media: { waiting: 1, running: 0 } });
    await remove(id);
  });
  it('is live and ready', async () => {
    for (const path of ['/livez', '/readyz'])
      expect(await (await fetch(`${service.url}${path}`)).json()).toEqual({ data: { status: 'ok' } });
  });
});

describe('a link', () => {
  const linkFor = async (host: string): Promise<string | undefined> => {
    const body = field('to_format', 'html') + file('a.csv', 'a,b') + END;
    const answer = await raw(
      service.url,
      `POST /api/v1/convert HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${FORM}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    return (JSON.parse(answer.body) as { data: { links: { self: string } } }).data.links.self.replace(/[0-9a-f]{32}$/, '');
  };
  const own = () => `http://localhost:${new URL(service.url).port}`;
  const hosts: Readonly<Record<string, readonly [host: string, base: () => string]>> = {
    'follows an IP address': ['127.0.0.1:9999', () => 'http://127.0.0.1:9999'],
    'follows an IPv6 address': ['[::1]:9999', () => 'http://[::1]:9999'],
    'follows localhost': ['localhost:81', () => 'http://localhost:81'],
    'follows a host that is allowed': ['Mill.Example', () => 'http://mill.example'],
    'does not follow a host that is not': ['evil.example', own],
    'does not follow a host that only begins like an allowed one': ['mill.example.evil.example', own],
    'does not follow a host with a user': ['mill.example@evil.example', own],
  };
  for (const [sentence, [host, base]] of Object.entries(hosts)) {
    it(sentence, async () => expect(await linkFor(host)).toBe(`${base()}/api/v1/jobs/`));
  }

  it('begins with the public URL where one is set, its path included', async () => {
    const behind = await startService({ api: { publicUrl: 'https://files.example/mill/' } });
    try {
      const { data } = await convert(behind.url, TABLE, 'html', {}, { host: 'evil.example' });
      const self = `https://files.example/mill/api/v1/jobs/${data?.job_id}`;
      expect([data?.links, data?.output?.url]).toEqual([{ self, output: `${self}/output` }, `${self}/output`]);
      const form = new FormData();
      form.set('to_format', 'html');
      form.set('file', new Blob([TABLE.bytes]), TABLE.name);
      const response = await fetch(`${behind.url}/api/v1/convert?download=1`, { method: 'POST', body: form, redirect: 'manual' });
      expect([response.status, response.headers.get('location')]).toEqual([
        303,
        expect.stringMatching(/^https:\/\/files\.example\/mill\/api\/v1\/jobs\/[0-9a-f]{32}\/output$/),
      ]);
      // The proxy strips the path or leaves it.
      expect((await fetch(`${behind.url}/mill/api/v1/jobs/${data?.job_id}`)).status).toBe(200);
      expect((await fetch(`${behind.url}/other/api/v1/jobs/${data?.job_id}`)).status).toBe(404);
    } finally {
      await behind.stop();
    }
  });
});

describe('a target', () => {
  for (const [sentence, to] of Object.entries({
    'that is missing': '',
    'with a space': 'html ',
    'of one letter': 'h',
    'of six letters': 'htmlab',
    'with two dots': '..html',
    'that is a dot': '.',
    'with a path': '../x',
    'with a semicolon': 'md;id',
    'in full-width digits': 'mp３',
    'that is unknown': 'zzzzz',
  })) {
    it(`${sentence} is refused`, async () => {
      const { status, error } = await convert(service.url, TABLE, to);
      expect([status, error?.code, error?.details['to_format']]).toEqual([400, 'INVALID_FORMAT', to]);
    });
  }
  it.each([
    ['.Html', 'table-filemill.html'],
    ['markdown', 'table-filemill.markdown'],
    ['.XHTML', 'table-filemill.xhtml'],
  ])('may be %s', async (to, filename) => {
    const answer = await settled(service.url, await convert(service.url, TABLE, to));
    expect(answer.data?.output?.filename).toBe(filename);
  });
  it('may be in capitals', async () => {
    const { data } = await convert(service.url, TABLE, 'HTML');
    expect(data?.output?.filename).toBe('table-filemill.html');
  });
  it('keeps the spelling of an alias', async () => {
    const { data } = await convert(service.url, TABLE, 'htm');
    expect([data?.output?.filename, data?.output?.content_type]).toEqual(['table-filemill.htm', 'text/html']);
  });
});

describe('a form', () => {
  const sends = async (body: string, path = '/api/v1/convert', type = FORM) => {
    const { status, body: text } = await rawForm(service.url, body, Buffer.byteLength(body), type, path);
    return {
      status,
      ...(JSON.parse(text) as { data?: { output?: { filename: string }; jobs?: unknown[]; counts?: object } } & Pick<Answer, 'error'>),
    };
  };
  const HTML = field('to_format', 'html');
  const csv = (name: string) => file('a.csv', 'a,b', name);

  it.each(['file', 'files[]', 'files', 'files[0]', 'file[]'])('has its file in %s, whichever it should be in', async (name) => {
    expect(await sends(HTML + csv(name) + END)).toMatchObject({ status: 200, data: { output: { filename: 'a-filemill.html' } } });
    const merged = await sends(csv(name) + END, '/api/v1/tools/merge-pdf');
    expect(merged.error?.details).toMatchObject({ min_files: 2, max_files: 20, received_files: 1 });
  });

  it('without a file names the fields that one came in, or the text in its place', async () => {
    expect(await sends(HTML + csv('image') + csv('Über"') + END)).toMatchObject({
      status: 400,
      error: { code: 'NO_FILE', details: { field: 'file', received_files: 0, file_fields: ['image', expect.stringMatching(/^[?\w]+$/)] } },
    });
    expect((await sends(HTML + csv('image') + END, '/api/v1/tools/merge-pdf')).error?.message).toContain('"image"');
    expect((await sends(HTML + csv('image') + END, '/api/v1/batch')).error?.details).toMatchObject({ file_fields: ['image'] });
    expect((await sends(HTML + field('file', 'a.csv') + END)).error?.message).toContain('-F file=@NAME');
  });

  it('that is none is told which content type came', async () => {
    for (const [type, shown] of [
      ['application/json', 'application/json'],
      ['multipart/form-data', 'multipart/form-data'],
    ] as const) {
      const { status, error } = await sends('{}', '/api/v1/convert', type);
      expect([status, error?.code, error?.details['content_type']]).toEqual([400, 'NO_FILE', shown]);
      expect(error?.message).toContain(`"${shown}"`);
    }
    const none = await raw(service.url, 'POST /api/v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n');
    expect(JSON.parse(none.body)).toMatchObject({ error: { code: 'NO_FILE', details: { content_type: null, field: 'files[]' } } });
  });

  it('may have its text fields as file parts, as some clients write them', async () => {
    const asFiles = file('to_format', 'html\n', 'to_format') + csv('file') + file('blob', '100', 'dpi') + END;
    expect(await sends(asFiles)).toMatchObject({ status: 200, data: { output: { filename: 'a-filemill.html' } } });
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(pdf([['a']]))]), 'a.pdf');
    form.set('quality', new Blob(['300']), 'quality');
    const tool = await readAnswer(await fetch(`${service.url}/api/v1/tools/compress-pdf`, { method: 'POST', body: form }));
    expect(tool.error?.details).toMatchObject({ option: 'quality', received: '300' });
    expect((await sends(csv('file') + file('x', 'y'.repeat(70_000), 'to_format') + END)).error?.message).toContain('65536');
  });

  it('has each field once; an empty one is not given', async () => {
    const twice = await sends(HTML + field('to_format', 'txt') + csv('file') + END);
    expect([twice.status, twice.error?.code, twice.error?.details['field']]).toEqual([400, 'BAD_REQUEST', 'to_format']);
    expect((await sends(HTML + file('f', 'html', 'to_format') + csv('file') + END)).status).toBe(400);
    expect((await sends(HTML + field('to_format', '') + csv('file') + END)).status).toBe(200);
  });

  it('counts its files where it has too many', async () => {
    expect((await sends(HTML + csv('file') + csv('files[]') + END)).error?.details).toMatchObject({ max_files: 1, received_files: 2 });
    expect((await sends(csv('file') + csv('file') + END, '/api/v1/tools/blur-image')).error?.details).toMatchObject({
      max_files: 1,
      received_files: 2,
    });
  });

  it.each(['1', 'true', 'on', 'yes', 'YES', 'True'])('is answered with the file itself where ?download=%s', async (yes) => {
    const body = HTML + csv('file') + END;
    expect((await rawForm(service.url, body, Buffer.byteLength(body), FORM, `/api/v1/convert?download=${yes}`)).status).toBe(303);
  });
});

interface OpenApi {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly post: {
          readonly requestBody: {
            readonly content: Readonly<
              Record<string, { readonly schema: { readonly properties: Readonly<Record<string, { readonly default?: unknown }>> } }>
            >;
          };
        };
      }
    >
  >;
}

describe('an option', () => {
  const refused: readonly (readonly [option: string, value: string])[] = [
    ['img_quality', '-1'],
    ['img_resize_w', '15'],
    ['img_resize_h', '7681'],
    ['img_rotate', '45'],
    ['mp3_bitrate', '193'],
    ['wav_depth', '12'],
    ['dpi', '601'],
    ['background', 'red'],
    ['strip_metadata', 'maybe'],
    ['pages', '1,,'],
    ['pages', '9e9'],
    ['start_time', '-1'],
    ['start_time', '1;drawtext=x'],
    ['ocr_lang', '../../../etc/passwd'],
    ['ocr_lang', 'eng+$(id)'],
    ['from_format', 'png'],
  ];
  for (const [option, value] of refused) {
    it(`${option} of ${value} is refused, with what is allowed`, async () => {
      const { status, error } = await convert(service.url, TABLE, 'html', { [option]: value });
      expect([status, error?.code, error?.details['option'], error?.details['received']]).toEqual([400, 'INVALID_OPTION', option, value]);
      expect(error?.details['allowed']).toBeTruthy();
    });
  }
  it('that is empty is not given', async () => {
    const { data } = await convert(service.url, TABLE, 'html', { img_quality: '', dpi: '', password: '' });
    expect(data?.status).toBe('done');
    expect(data?.warnings.filter(({ code }) => code.startsWith('option_'))).toEqual([]);
  });
  it('that is unknown, or that has no effect here, is a warning', async () => {
    const { data } = await convert(service.url, TABLE, 'html', { sharpness: '3', img_quality: '50', __proto__x: '1' });
    expect(data?.warnings).toEqual(
      expect.arrayContaining([
        { code: 'option_unknown', message: 'There is no option "sharpness".' },
        { code: 'option_ignored', message: expect.stringContaining('img_quality') },
      ]),
    );
  });
  it('that is unknown names the nearest', async () => {
    const { data } = await convert(service.url, TABLE, 'html', { img_qualty: '50', quality: '50', 'page-range': '1' });
    expect(data?.warnings.map(({ message }) => message)).toEqual([
      'There is no option "img_qualty". Did you mean img_quality?',
      'There is no option "quality". Did you mean img_quality?',
      'There is no option "page-range". Did you mean pages?',
    ]);
  });
  it('that has its default causes no warning, as a generated client sends each of them', async () => {
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApi;
    const form = document.paths['/api/v1/convert']?.post.requestBody.content['multipart/form-data'];
    const defaults = Object.entries(form?.schema.properties ?? {}).flatMap(([name, field]) =>
      'default' in field ? [[name, String(field.default)]] : [],
    );
    expect(defaults.length).toBeGreaterThan(8);
    const { data } = await convert(service.url, TABLE, 'html', Object.fromEntries([...defaults, ['ocr_lang', 'eng']]));
    expect([data?.status, data?.warnings]).toEqual(['done', []]);
  });
  it('that is unknown is refused where the client prefers that (RFC 7240)', async () => {
    const strictly = async (path: string, name: string, fields: string, prefer: string) => {
      const body = file('a.csv', 'a,b', name) + fields + END;
      const headers = { 'content-type': FORM, prefer };
      const response = await fetch(`${service.url}/api/v1/${path}`, { method: 'POST', body, headers });
      return { applied: response.headers.get('preference-applied'), ...(await readAnswer(response)) };
    };
    for (const [path, name] of [
      ['convert', 'file'],
      ['batch', 'files[]'],
    ] as const) {
      const fields = field('to_format', 'html') + field('img_qualty', '3');
      const { status, error, applied } = await strictly(path, name, fields, 'respond-async, handling=strict');
      expect([status, error?.code, error?.details['option'], applied], path).toEqual([
        400,
        'INVALID_OPTION',
        'img_qualty',
        'handling=strict',
      ]);
      expect(error?.message, path).toBe('There is no option "img_qualty". Did you mean img_quality?');
    }
    const { applied, ...accepted } = await strictly(
      'convert',
      'file',
      field('to_format', 'html') + field('dpi', '100'),
      'handling=strict, respond-async',
    );
    expect([accepted.status, applied]).toEqual([200, 'handling=strict, respond-async']);
    // The queue of this service is short.
    await settled(service.url, accepted);
  });
  it('may come behind the file', async () => {
    const answer = await rawForm(service.url, file('a.csv', 'a,b') + field('to_format', 'html') + field('sharpness', '3') + END);
    expect(JSON.parse(answer.body)).toMatchObject({
      data: { status: 'done', warnings: expect.arrayContaining([expect.objectContaining({ code: 'option_unknown' })]) },
    });
  });
});

describe('several jobs', () => {
  interface Listed {
    readonly job_id: string;
    readonly status: string;
    readonly output?: { readonly url: string };
    readonly error?: { readonly code: string };
  }
  const list = async (query: string) => {
    const response = await fetch(`${service.url}/api/v1/jobs?${query}`);
    return { status: response.status, ...((await response.json()) as { data?: { jobs: readonly Listed[] }; error?: Answer['error'] }) };
  };

  it('are answered at once, each by its id, in the order asked', async () => {
    const done = await settled(service.url, await convert(service.url, TABLE, 'html'));
    const failed = await settled(
      service.url,
      await convert(service.url, { name: 'a.pdf', bytes: Buffer.from('%PDF-1.4\nnothing') }, 'txt'),
    );
    const deleted = await settled(service.url, await convert(service.url, TABLE, 'tsv'));
    await remove(deleted.data?.job_id ?? '');
    const [one = '', two = '', three = ''] = [
      done.data?.job_id,
      failed.data?.job_id ?? `${failed.error?.details['job_id']}`,
      deleted.data?.job_id,
    ];
    const { data } = await list(`ids=${two},${one},nothing&ids=${three},${UNKNOWN_ID},${one}`);
    expect(data?.jobs.map(({ job_id, status, error }) => [job_id, status, error?.code])).toEqual([
      [two, 'error', 'CONVERSION_FAILED'],
      [one, 'done', undefined],
      ['nothing', 'error', 'JOB_NOT_FOUND'],
      [three, 'error', 'JOB_EXPIRED'],
      [UNKNOWN_ID, 'error', 'JOB_NOT_FOUND'],
    ]);
    expect(data?.jobs[1]?.output?.url).toBe(done.data?.output?.url);
  });
  it('are at most a hundred, which the limits say', async () => {
    const { data } = (await (await fetch(`${service.url}/api/v1/limits`)).json()) as { data: { jobs: { max_ids: number } } };
    const ids = (count: number) => Array.from({ length: count }, (_, at) => at.toString(16).padStart(32, '0')).join(',');
    expect((await list(`ids=${ids(data.jobs.max_ids)}`)).data?.jobs).toHaveLength(100);
    for (const query of [`ids=${ids(101)}`, 'ids=', ''])
      expect(await list(query)).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 'ids' } } });
  });
});

describe('many requests at once', () => {
  it('are all answered, each with its own job', async () => {
    const busy = await startService();
    try {
      const answers = await Promise.all(
        Array.from({ length: 40 }, async (_, n) =>
          settled(busy.url, await convert(busy.url, { name: `t${n}.csv`, bytes: Buffer.from(`kestrel,${n}\n`) }, 'html')),
        ),
      );
      expect(answers.map(({ data }) => [data?.status, data?.output?.filename])).toEqual(
        answers.map((_, n) => ['done', `t${n}-filemill.html`]),
      );
      const texts = await Promise.all(answers.map(async ({ data }) => (await fetch(data?.output?.url ?? '')).text()));
      for (const [n, text] of texts.entries()) expect(text).toMatch(new RegExp(`>${n}<`));
    } finally {
      await busy.stop();
    }
  });
});

describe('the log', () => {
  const NAME = 'holiday-in-sodankyla';
  const SECRET = 'correct-horse-battery';
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filemill-log-'));
    await chmod(folder, 0o755);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('has request and job ids, and neither names, nor passwords, nor addresses, whatever happens; nor has the database', async () => {
    const server = await startProcess(folder, SETTINGS, { LOG_LEVEL: 'trace' });
    const agent = new Agent({ connections: 1 });
    try {
      const done = await convert(
        server.url,
        { name: `${NAME}.csv`, bytes: TABLE.bytes },
        'html',
        { password: SECRET },
        { 'x-request-id': 'my-request' },
      );
      const kept = await convert(
        server.url,
        { name: `${NAME}.wav`, bytes: WAVE.bytes },
        'mp3',
        { password: SECRET },
        { prefer: 'respond-async' },
      );
      expect([done.data?.status, kept.data?.status]).toEqual(['done', 'processing']);
      await convert(server.url, { name: `${NAME}.png`, bytes: Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1') }, 'jpg', {
        password: SECRET,
      });
      const refused = await convert(server.url, { name: `${NAME}.csv`, bytes: TABLE.bytes }, 'html', {
        password: `${SECRET}${'x'.repeat(200)}`,
      });
      expect(refused.error?.details).toMatchObject({ option: 'password', received: '(hidden)' });
      expect(JSON.stringify([done, kept, refused])).not.toContain(SECRET);
      await fetch(`${server.url}/%zz${NAME}?password=${SECRET}`);
      await fetch(`${server.url}/api/v1/jobs/${NAME}?password=${SECRET}`);
      await rawForm(server.url, field('password', SECRET) + file(`${NAME}.csv`, 'a'), 5_000);
      // A listener left on the connection by each request would be warned of.
      for (let n = 0; n < 15; n++) {
        const body = field('to_format', 'html') + file('a.csv', `a,${n}`) + END;
        const answer = await request(`${server.url}/api/v1/convert`, {
          method: 'POST',
          headers: { 'content-type': FORM },
          body,
          dispatcher: agent,
        });
        expect(answer.statusCode).toBe(200);
        await answer.body.dump();
      }
      const said = await eventually(() => {
        const lines = server.lines.filter((line) => !/listening at|serves on/.test(line));
        return lines.some((line) => line.includes('my-request') && line.includes('"route":"/api/v1/convert"')) && lines;
      }, 'the line of the request');
      expect(said.filter((line) => line.includes(done.data?.job_id ?? '')).length).toBeGreaterThanOrEqual(2);
      for (const secret of [NAME, SECRET, '127.0.0.1', 'Warning']) expect(said.filter((line) => line.includes(secret))).toEqual([]);
      const stored = await Promise.all(['filemill.db', 'filemill.db-wal'].map((name) => readFile(join(folder, name))));
      expect(stored.some((bytes) => bytes.includes(kept.data?.job_id ?? ''))).toBe(true);
      for (const bytes of stored) expect(bytes.includes(SECRET)).toBe(false);
    } finally {
      await agent.close();
      await endProcess(server);
    }
  });
});
