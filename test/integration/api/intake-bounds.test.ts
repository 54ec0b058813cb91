/** What clients may hold: connections, files that are being read, streams of events; and who is turned away before its body is read. */
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../../kit/api/assistant.ts';
import { connectTo, END, eventually, FORM, field, file, fileHead, raw, rawForm } from '../../kit/api/wire.ts';
import { DOT } from '../../kit/catalog/bytes.ts';
import { convert, endProcess, type JobBody, type Service, type Settings, startProcess, startService } from '../../kit/roles/service.ts';

/** Behind a proxy, so that a test can be several clients; no worker converts sound. */
const SETTINGS: Settings = {
  api: { trustProxy: ['127.0.0.0/8'], syncMaxBytes: 1 << 26, stalledMs: 600, events: { perClient: 2, total: 3 } },
  limits: { mcp: 1, cooldownMs: 0, readsPerMinute: 40, messagesPerMinute: 40 },
  worker: { slots: { media: 0 } },
};
let service: Service;
beforeAll(async () => {
  service = await startService(SETTINGS);
});
afterAll(() => service?.stop());

const as = (client: string) => ({ 'x-forwarded-for': client });
const TABLE = { name: 'table.csv', bytes: Buffer.from('name,size\nkestrel,7\n') };
/** 24 MB as a BMP: more than a connection holds on its way. */
const PICTURE = { name: 'a.ppm', bytes: Buffer.concat([Buffer.from('P6 2829 2829 255\n'), Buffer.alloc(2829 * 2829 * 3, 90)]) };

/** Files of the service that this process has open. */
const openObjects = (job: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(join(service.dataDir, 'objects')) && path.includes(job) ? [path] : [];
    } catch {
      return [];
    }
  });

/** Whether the server's end of a connection is open, as the system has it (proc_pid_net(5): state 01). */
function isServed({ localPort = 0 }: Socket): boolean {
  const port = localPort.toString(16).toUpperCase().padStart(4, '0');
  const rows = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'latin1').split('\n'));
  return rows.some((row) => {
    const [, , remote = '', state] = row.trim().split(/ +/);
    return remote.endsWith(`:${port}`) && state === '01';
  });
}

async function large(client: string): Promise<JobBody> {
  const { data } = await convert(service.url, PICTURE, 'bmp', {}, as(client));
  if (data?.output === undefined) throw new Error('no picture');
  return data;
}
const get = (path: string, client: string) =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${client}\r\nAccept-Encoding: identity\r\n\r\n`;
const message = (client: string, accept: string) => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  return `POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${client}\r\nAccept: ${accept}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

describe('an answer that its client does not read is given up', () => {
  it('while it is a file', async () => {
    const job = await large('203.0.113.1');
    const socket = connectTo(service.url).pause();
    socket.write(get(new URL(job.links.output).pathname, '203.0.113.1'));
    await eventually(() => openObjects(job.job_id).length === 1, 'a download');
    await eventually(() => openObjects(job.job_id).length === 0, 'the end of the download');
    socket.destroy();
  });

  it('while it is the ZIP of a batch', async () => {
    const client = '203.0.113.2';
    const form = new FormData();
    form.set('to_format', 'bmp');
    for (const name of ['a.ppm', 'b.ppm']) form.append('files[]', new Blob([PICTURE.bytes]), name);
    const sent = await fetch(`${service.url}/api/v1/batch`, { method: 'POST', body: form, headers: as(client) });
    const { data } = (await sent.json()) as { data: { jobs: readonly { job_id: string }[]; links: { self: string; output: string } } };
    const state = async () =>
      ((await (await fetch(data.links.self, { headers: as(client) })).json()) as { data: { overall_status: string } }).data.overall_status;
    await expect.poll(state, { timeout: 30_000, interval: 500 }).toBe('done');
    const socket = connectTo(service.url).pause();
    socket.write(get(new URL(data.links.output).pathname, client));
    const open = () => data.jobs.flatMap(({ job_id }) => openObjects(job_id)).length;
    await eventually(() => open() > 0, 'a download');
    await eventually(() => open() === 0 && !isServed(socket), 'the end of the download');
    socket.destroy();
  });

  it.each([
    ['JSON', (client: string) => get('/openapi.json', client)],
    ['an assistant’s', (client: string) => message(client, 'application/json')],
    ['an assistant’s, as a stream', (client: string) => message(client, 'application/json, text/event-stream')],
  ])('while it is %s', async (_, requestOf) => {
    const socket = connectTo(service.url).pause();
    await once(socket, 'connect');
    // One answer fits into what a connection holds on its way; so many do not, and each is another client's.
    for (let index = 0; index < 1_500 && socket.writableLength === 0; index++)
      socket.write(requestOf(`198.51.${100 + Math.floor(index / 250)}.${index % 250}`));
    expect(isServed(socket)).toBe(true);
    await eventually(() => !isServed(socket), 'the end of the connection', 30_000);
    socket.destroy();
  });

  it('not while it is taken, however slowly', async () => {
    const job = await large('203.0.113.4');
    const socket = connectTo(service.url).pause();
    socket.write(get(new URL(job.links.output).pathname, '203.0.113.4'));
    let bytes = 0;
    const until = performance.now() + 2_000;
    while (performance.now() < until && !socket.closed) {
      bytes += (socket.read() as Buffer | null)?.length ?? 0;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(socket.closed).toBe(false);
    socket.resume().on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await eventually(() => bytes > (job.output?.size_bytes ?? 0), 'the whole file');
    socket.destroy();
  });

  it('and so is one whose file was deleted, although it is read', async () => {
    const job = await large('203.0.113.5');
    const socket = connectTo(service.url).pause();
    const reading = setInterval(() => socket.read(64 * 1024), 50);
    socket.write(get(new URL(job.links.output).pathname, '203.0.113.5'));
    await eventually(() => openObjects(job.job_id).length === 1, 'a download');
    expect((await fetch(job.links.self, { method: 'DELETE' })).status).toBe(204);
    await eventually(() => openObjects(job.job_id).length === 0, 'the end of the download');
    clearInterval(reading);
    socket.destroy();
  });
});

describe('before its body is read', () => {
  const head = (client: string, more: string) =>
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${client}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;
  const announced = (client: string) => raw(service.url, head(client, 'Content-Length: 15000000'), { end: false });
  const work = (client: string) =>
    call(service.url, 'convert_file', { file: DOT.bytes.toString('base64'), filename: DOT.name, to_format: 'jpg' }, as(client));

  it('a file of an assistant that has nothing left is refused, which counts, until it is banned; what makes no work is answered', async () => {
    const client = '203.0.113.10';
    await work(client);
    const codes: unknown[] = [];
    for (let n = 0; n < 12; n++)
      codes.push((JSON.parse((await announced(client)).body) as { error: { data: { code: string } } }).error.data.code);
    expect(codes).toEqual([...Array.from({ length: 11 }, () => 'RATE_LIMITED'), 'BANNED']);
    const { content } = await call(service.url, 'get_job_status', { job_id: '0'.repeat(32) }, as(client));
    expect(content?.[0]?.text).toContain('JOB_NOT_FOUND');
  });

  it('messages of an assistant are counted, whatever they ask for', async () => {
    const ping = () =>
      fetch(`${service.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...as('203.0.113.11') },
        body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      });
    for (let n = 0; n < 40; n++) expect((await ping()).status).toBe(200);
    const answer = await ping();
    expect([answer.status, await answer.json()]).toMatchObject([
      429,
      { error: { data: { code: 'RATE_LIMITED', details: { tier: 'flood' } } } },
    ]);
  });

  it('requests for work that were refused are counted as reads are', async () => {
    const refused = () => convert(service.url, TABLE, '-', {}, as('203.0.113.12'));
    for (let n = 0; n < 40; n++) expect((await refused()).error?.code).toBe('INVALID_FORMAT');
    expect((await refused()).error).toMatchObject({ code: 'RATE_LIMITED', details: { tier: 'flood' } });
  });
});

describe('streams of events', () => {
  it('are bounded for each client, and in all', async () => {
    const wave = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0', 'latin1'), Buffer.alloc(2_000)]);
    const { data } = await convert(
      service.url,
      { name: 'a.wav', bytes: wave },
      'mp3',
      {},
      { ...as('203.0.113.20'), prefer: 'respond-async' },
    );
    const over = new AbortController();
    const listen = (client: string) =>
      fetch(`${service.url}/api/v1/jobs/${data?.job_id}/events`, { headers: as(client), signal: over.signal });
    const codeOf = async (response: Response) => [response.status, ((await response.json()) as { error: { code: string } }).error.code];
    const first = [await listen('203.0.113.21'), await listen('203.0.113.21')];
    expect(first.map(({ status }) => status)).toEqual([200, 200]);
    expect(await codeOf(await listen('203.0.113.21'))).toEqual([429, 'RATE_LIMITED']);
    expect((await listen('203.0.113.22')).status).toBe(200);
    expect(await codeOf(await listen('203.0.113.23'))).toEqual([503, 'OVERLOADED']);
    over.abort();
    // A client that has gone makes room, long before the next comment.
    const again = new AbortController();
    let client = 100;
    await eventually(async () => {
      const { status } = await fetch(`${service.url}/api/v1/jobs/${data?.job_id}/events`, {
        headers: as(`203.0.113.${client++}`),
        signal: again.signal,
      });
      return status === 200;
    }, 'room');
    again.abort();
  });
});

describe('a request', () => {
  it('with two Host headers is refused', async () => {
    const answer = await raw(service.url, 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere\r\n\r\n');
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
      400,
      { error: { code: 'BAD_REQUEST', message: expect.stringContaining('Host') } },
    ]);
  });

  it.each([
    ['read', get('/api/v1/health', '203.0.113.30')],
    ['work', ''],
  ])('after which the client closes its side gets its answer: %s', async (_, sent) => {
    const body = field('to_format', 'html') + file('a.csv', 'name,size\nkestrel,7\n') + END;
    const post = `POST /api/v1/convert HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.31\r\nContent-Type: ${FORM}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expect((await raw(service.url, sent || post, { end: true })).status).toBe(200);
  });

  it.each([
    ['150 files', file('a.csv', 'a,b', 'files[]')],
    ['150 upload ids', field('upload_ids[]', `upl_${'0'.repeat(32)}`)],
  ])('for a batch of %s is told how many it may have', async (what, part) => {
    const body = field('to_format', 'html') + part.repeat(150) + END;
    const { status, body: answer } = await rawForm(service.url, body, undefined, undefined, '/api/v1/batch');
    const received = what === '150 files' ? 150 : expect.any(Number);
    const details = { max_files: 20, received_files: received };
    expect([status, JSON.parse(answer)]).toMatchObject([400, { error: { code: 'BATCH_TOO_LARGE', details } }]);
  });
});

it('a client that hangs up in the middle of a message is no error of ours', async () => {
  const home = await mkdtemp(join(tmpdir(), 'filemill-hang-up-'));
  const running = await startProcess(home);
  try {
    for (const path of ['/mcp', '/api/v1/convert']) {
      const type = path === '/mcp' ? 'application/json' : FORM;
      const socket = connectTo(running.url);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\n\r\n${fileHead('a.csv')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.resetAndDestroy();
    }
    await eventually(() => running.lines.filter((line) => line.includes('a request was refused')).length >= 2, 'both lines of the log');
    expect(running.lines.filter((line) => /"level":(50|"error")/.test(line))).toEqual([]);
  } finally {
    await endProcess(running);
    await rm(home, { recursive: true, force: true });
  }
});
