/** What comes in: bodies that stream, are too large, broken, slow or cut off, a disk without room; and what of all that is left behind. */

import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  BOUNDARY,
  connectTo,
  END,
  eventually,
  FORM,
  field,
  file,
  fileHead,
  objectsIn,
  programsUnder,
  raw,
  rawForm,
  storedIn,
} from '../../kit/api/wire.ts';
import { waveHead } from '../../kit/catalog/wave.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import { convert, endProcess, readAnswer, type Service, type ServiceProcess, startProcess, startService } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const MAX = 209_715_200;
const TABLE = { name: 'table.csv', bytes: Buffer.from('name,size\nkestrel,7\n') };
const convertAt = (url: string) => `${url}/api/v1/convert`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-uploads-'));
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A file of that size that takes no room on the disk. @param head what it begins with */
async function sparse(name: string, bytes: number, head: Buffer = Buffer.alloc(0)): Promise<string> {
  const path = join(folder, name);
  const handle = await open(path, 'w');
  await handle.write(head);
  await handle.close();
  await truncate(path, bytes);
  return path;
}

/** The head of a stereo recording that fills a file of that size. */
const headOf = (bytes: number): Buffer => waveHead({ dataBytes: bytes - 44, channels: 2 });

interface Curled {
  readonly status: number;
  readonly body: {
    readonly data?: { readonly job_id: string; readonly status: string };
    readonly error?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> };
  };
}

/** One upload by curl, a separate process. */
async function curl(url: string, ...args: readonly string[]): Promise<Curled> {
  const { stdout } = await run('/usr/bin/curl', ['-sS', '-w', '\n%{http_code}', ...args, convertAt(url)], { maxBuffer: 1 << 20 });
  const split = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(split)), body: JSON.parse(stdout.slice(0, split)) as Curled['body'] };
}

const formOf = (path: string, to = 'mp3') => ['-F', `to_format=${to}`, '-F', `file=@${path}`];

/** kB of a field of /proc/<pid>/status (proc_pid_status(5)). */
const memory = (pid: number, name: 'VmRSS' | 'VmHWM') =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** The script that starts the server becomes the server. */
const pidOf = ({ child }: ServiceProcess): number => child.pid ?? 0;

/** Each of sixteen files has so much: together many times what the server may hold. */
const EACH_MB = rounds(200, 60);

describe('large files', () => {
  let dataDir: string;
  let server: ServiceProcess;
  beforeAll(async () => {
    dataDir = join(folder, 'large');
    await mkdir(dataDir, { mode: 0o755 });
    // No worker converts sound here: what is accepted is seen before it is worked on.
    server = await startProcess(dataDir, { worker: { slots: { media: 0 } } });
  });
  afterAll(() => endProcess(server));

  it(`stream: sixteen of ${EACH_MB} MB at once raise the memory of the server by less than 150 MB`, {
    // It measures memory, not time: up to 10 GB pass through a machine that may be busy.
    timeout: 600_000,
  }, async () => {
    const path = await sparse('zeros', EACH_MB * 1e6);
    // The threads that judge files start with the first of them, and stay: they are no cost of an upload.
    const few = await sparse('few-zeros', 300_000);
    await Promise.all(Array.from({ length: 16 }, () => curl(server.url, ...formOf(few))));
    const before = memory(pidOf(server), 'VmRSS');
    const raisedBy16 = async (): Promise<number> => {
      // Sets the high-water mark back to what is used now (proc_pid_clear_refs(5)).
      writeFileSync(`/proc/${pidOf(server)}/clear_refs`, '5');
      const answers = await Promise.all(Array.from({ length: 16 }, () => curl(server.url, ...formOf(path))));
      const raised = (memory(pidOf(server), 'VmHWM') - before) / 1024;
      console.log(`16 uploads of ${EACH_MB} MB raised RSS by ${raised.toFixed(0)} MiB, from ${(before / 1024).toFixed(0)} MiB`);
      // Zeros are no kind of file, which shows only when they are there.
      expect(answers.map(({ status, body }) => [status, body.error?.code])).toEqual(answers.map(() => [415, 'UNSUPPORTED_MIME']));
      return raised;
    };
    const most = 150e6 / 2 ** 20;
    // Garbage that a busy machine has not collected yet counts, too: what uploads need is the least of several measurements.
    let least = await raisedBy16();
    for (let again = 0; again < 2 && least >= most; again++) least = Math.min(least, await raisedBy16());
    expect(least).toBeLessThan(most);
    expect(objectsIn(dataDir)).toEqual([]);
  });

  it('of exactly 209715200 bytes are accepted', async () => {
    const path = await sparse('largest.wav', MAX, headOf(MAX));
    const { status, body } = await curl(server.url, ...formOf(path));
    expect([status, body.data?.status]).toEqual([200, 'processing']);
    expect(objectsIn(dataDir)).toHaveLength(1);
    const job = `${server.url}/api/v1/jobs/${body.data?.job_id}`;
    expect((await fetch(job, { method: 'DELETE' })).status).toBe(204);
    expect(objectsIn(dataDir)).toEqual([]);
  });

  const tooLarge: Readonly<Record<string, readonly [bytes: number, args: readonly string[], received: unknown]>> = {
    'of one byte more': [MAX + 1, [], MAX + 1],
    'of one byte more in chunks': [MAX + 1, ['-H', 'Transfer-Encoding: chunked'], MAX + 1],
    'of a declared gigabyte': [1 << 30, [], expect.any(Number)],
    'of a declared gigabyte whose client does not wait to be asked': [1 << 30, ['-H', 'Expect:'], expect.any(Number)],
    'of a gigabyte in chunks': [1 << 30, ['-H', 'Transfer-Encoding: chunked'], expect.any(Number)],
  };
  for (const [sentence, [bytes, args, received]] of Object.entries(tooLarge)) {
    it(`${sentence} are refused, and curl reads why`, async () => {
      const path = await sparse('too-large.wav', bytes, headOf(MAX));
      const { status, body } = await curl(server.url, ...args, ...formOf(path));
      expect([status, body.error?.code]).toEqual([413, 'FILE_TOO_LARGE']);
      expect(body.error?.details).toMatchObject({ max_bytes: MAX, received_bytes: received });
      expect(body.error?.details['received_bytes']).toBeGreaterThan(MAX);
      await eventually(() => objectsIn(dataDir).length === 0, 'the refused upload to be removed');
    });
  }

  it('are refused before they are sent, where the client asks first', async () => {
    const head = `POST /api/v1/convert HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: ${FORM}\r\nContent-Length: ${MAX * 2}\r\n\r\n`;
    const answer = await raw(server.url, head);
    expect(answer.text).toMatch(/^HTTP\/1\.1 413 /);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { details: { received_bytes: MAX * 2 } } });
  });
});

describe('a client that asks before it sends', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ api: { syncWaitMs: 90_000 } });
  });
  afterAll(() => service.stop());
  const ask = (path: string, type: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;

  it('is told to go on where its headers are good', async () => {
    const body = field('to_format', 'html') + file('a.csv', 'a,b') + END;
    const socket = connectTo(service.url);
    let text = '';
    socket.on('data', (chunk) => {
      if (text === '') socket.write(body);
      text += chunk.toString();
    });
    socket.write(ask('/api/v1/convert', FORM, body));
    await eventually(() => text.includes('"status":"done"'), 'the job', 90_000);
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    socket.destroy();
  });
  it('is refused at once where they are not', async () => {
    expect((await raw(service.url, ask('/api/v1/convert', 'text/plain', 'x'.repeat(100)))).text).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*"NO_FILE"/,
    );
    expect((await raw(service.url, ask('/api/v1/nothing', FORM, 'x'.repeat(100)))).text).toMatch(/^HTTP\/1\.1 404 [\s\S]*"NOT_FOUND"/);
  });
});

describe('a file over a limit of 1 MB', () => {
  let service: Service;
  let browser: Browser;
  beforeAll(async () => {
    service = await startService({ api: { maxFileBytes: 1_000_000 } });
    const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
  });
  afterAll(async () => {
    await browser?.close();
    await service.stop();
  });

  for (const [sentence, bytes] of Object.entries({ 'by one byte': 1_000_001, 'by far more than is read of it': 100_000_000 })) {
    it(`${sentence} is refused so that undici reads why`, async () => {
      const { status, error } = await convert(service.url, { name: 'a.csv', bytes: Buffer.alloc(bytes, 'a') }, 'html');
      expect([status, error?.code, error?.details['max_bytes']]).toEqual([413, 'FILE_TOO_LARGE', 1_000_000]);
    });

    it(`${sentence}, in chunks, is refused so that undici reads why`, async () => {
      async function* chunks() {
        yield Buffer.from(field('to_format', 'html') + fileHead('a.csv'));
        for (let left = bytes; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536), 'a');
        yield Buffer.from(`\r\n${END}`);
      }
      const { status, error } = await readAnswer(
        await fetch(convertAt(service.url), {
          method: 'POST',
          headers: { 'content-type': FORM },
          body: chunks(),
          duplex: 'half',
        } as RequestInit),
      );
      expect([status, error?.code]).toEqual([413, 'FILE_TOO_LARGE']);
      expect(error?.details['received_bytes']).toBeGreaterThan(1_000_000);
    });

    it(`${sentence} is refused so that a page in Chromium, of another origin, reads why`, async () => {
      const page = await browser.newPage();
      await page.goto(`${service.url}/livez`);
      // localhost is another origin than 127.0.0.1.
      const url = convertAt(service.url.replace('127.0.0.1', 'localhost'));
      const seen = await page.evaluate(
        async ([target, size]) => {
          const form = new FormData();
          form.set('to_format', 'html');
          form.set('file', new Blob([new Uint8Array(Number(size)).fill(97)]), 'a.csv');
          const response = await fetch(String(target), { method: 'POST', body: form });
          const { error } = (await response.json()) as { error: { code: string; details: { request_id: string } } };
          return { status: response.status, code: error.code, same: response.headers.get('x-request-id') === error.details.request_id };
        },
        [url, bytes] as const,
      );
      expect(seen).toEqual({ status: 413, code: 'FILE_TOO_LARGE', same: true });
      await page.close();
    });
  }
});

const CUTS = rounds(100, 30);

describe('a body', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ api: { paceWindowMs: 1_000 } });
  });
  afterAll(() => service.stop());
  const target = field('to_format', 'html');
  const csv = file('a.csv', 'a,b\n1,2\n');
  const part = (headers: string, content: string) => `--${BOUNDARY}\r\n${headers}\r\n\r\n${content}\r\n`;

  const refused: Readonly<Record<string, readonly [body: string, code: string, length?: number | undefined, type?: string]>> = {
    'that is empty': ['', 'NO_FILE'],
    'of garbage': ['\0\x01kestrel'.repeat(500), 'NO_FILE'],
    'that is JSON': ['{"file":"x"}', 'NO_FILE', undefined, 'application/json'],
    'without a boundary': [csv, 'NO_FILE', undefined, 'multipart/form-data'],
    'with an empty boundary': [csv, 'NO_FILE', undefined, 'multipart/form-data; boundary='],
    'with a boundary of 5 kB': [csv, 'NO_FILE', undefined, `multipart/form-data; boundary=${'x'.repeat(5_000)}`],
    'with nothing but an end': [END, 'NO_FILE'],
    'that ends in the file': [`${target + fileHead('a.csv')}a,b`, 'NO_FILE'],
    'that ends in the head of a part': [`${target}--${BOUNDARY}\r\nContent-Disposition: form-data; na`, 'NO_FILE'],
    'that ends in a field': [`${csv}--${BOUNDARY}\r\nContent-Disposition: form-data; name="to_format"\r\n\r\nht`, 'NO_FILE'],
    'that ends between parts': [target + csv, 'NO_FILE'],
    'with an empty file': [target + file('a.csv', '') + END, 'NO_FILE'],
    'with a file in another field': [target + file('a.csv', 'a,b', 'document') + END, 'NO_FILE'],
    'with the file as text': [target + field('file', 'a,b') + END, 'NO_FILE'],
    'with two files': [target + csv + csv + END, 'BAD_REQUEST'],
    'of ten thousand fields': [Array.from({ length: 10_000 }, (_, n) => field(`f${n}`, 'x')).join('') + csv + END, 'BAD_REQUEST'],
    'of a hundred files': [target + Array.from({ length: 100 }, () => file('a.csv', 'a,b', 'other')).join('') + END, 'BAD_REQUEST'],
    'with a field of a megabyte': [field('to_format', 'x'.repeat(1 << 20)) + csv + END, 'BAD_REQUEST'],
    'shorter than it says, that then stands still': [target + csv + END, 'BODY_TIMEOUT', 9_999],
    'that stands still in the file': [`${target + fileHead('a.csv')}a,b`, 'BODY_TIMEOUT', 9_999],
  };
  for (const [sentence, [body, code, length, type]] of Object.entries(refused)) {
    it(`${sentence} is refused and leaves nothing`, async () => {
      const before = storedIn(service.dataDir).states.length;
      const answer = await rawForm(service.url, body, length, type);
      expect(JSON.parse(answer.body)).toMatchObject({ error: { code } });
      expect(objectsIn(service.dataDir)).toEqual([]);
      expect(storedIn(service.dataDir)).toMatchObject({ orders: 0, states: { length: before } });
    });
  }

  it('that trickles is given up', async () => {
    const socket = connectTo(service.url);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    socket.write(
      `POST /api/v1/convert HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nContent-Length: 100000\r\n\r\n${target}${fileHead('a.csv')}`,
    );
    const trickle = setInterval(() => socket.write('a'), 100);
    await eventually(() => text.includes('\r\n\r\n{'), 'an answer');
    clearInterval(trickle);
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 408 [\s\S]*"BODY_TIMEOUT"/);
    expect(objectsIn(service.dataDir)).toEqual([]);
  });

  it('that is slow but steady is taken', async () => {
    const socket = connectTo(service.url);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
    });
    const lines = Buffer.alloc(40_000, 'a,b\n');
    const length = target.length + fileHead('a.csv').length + lines.length * 4 + 2 + END.length;
    socket.write(
      `POST /api/v1/convert HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nContent-Length: ${length}\r\nPrefer: respond-async\r\n\r\n${target}${fileHead('a.csv')}`,
    );
    // Four times 40 kB, twice a window: in all longer than a window.
    for (let n = 0; n < 4; n++) {
      socket.write(lines);
      await new Promise((resolve) => setTimeout(resolve, 450));
    }
    socket.write(`\r\n${END}`);
    await eventually(() => text.includes('\r\n\r\n{'), 'an answer');
    socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
    const id = /"job_id":"([0-9a-f]{32})"/.exec(text)?.[1];
    await fetch(`${service.url}/api/v1/jobs/${id}`, { method: 'DELETE' });
  });

  it(`cut off in the middle leaves nothing, ${CUTS} times`, async () => {
    const before = storedIn(service.dataDir);
    await Promise.all(
      Array.from({ length: CUTS }, async (_, n) => {
        const socket = connectTo(service.url);
        socket.write(
          `POST /api/v1/convert HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nContent-Length: 100000\r\n\r\n${target}${fileHead('a.csv')}${'a,b\n'.repeat(n * 100)}`,
        );
        await new Promise((resolve) => setTimeout(resolve, 20 + n));
        if (n % 2 === 0) socket.destroy();
        else socket.resetAndDestroy();
      }),
    );
    await eventually(() => objectsIn(service.dataDir).length === 0, 'no object');
    expect(storedIn(service.dataDir)).toEqual(before);
    expect((await convert(service.url, TABLE, 'html')).data?.status).toBe('done');
  });

  const taken: Readonly<Record<string, readonly [body: string, filename: string]>> = {
    'whose file has no name': [
      target + part('Content-Disposition: form-data; name="file"\r\nContent-Type: application/octet-stream', 'a,b\n1,2\n'),
      'file-filemill.html',
    ],
    'with parts that have no name': [
      part('Content-Disposition: form-data', 'x') + part('Content-Disposition: form-data; filename="b"', 'x') + target + csv,
      'a-filemill.html',
    ],
    'with a part that says nothing of itself': [part('Content-Type: text/plain', 'x') + target + csv, 'a-filemill.html'],
    'with the names that JavaScript objects have': [
      field('__proto__', 'x') + field('constructor', 'x') + field('toString', 'x') + target + csv,
      'a-filemill.html',
    ],
    'with an unknown charset': [
      part('Content-Disposition: form-data; name="note"\r\nContent-Type: text/plain; charset=klingon', 'x') + target + csv,
      'a-filemill.html',
    ],
    'with text before and behind the parts': [`preamble\r\n${target}${csv}`, 'a-filemill.html'],
  };
  for (const [sentence, [body, filename]] of Object.entries(taken)) {
    it(`${sentence} is taken`, async () => {
      const answer = await rawForm(service.url, `${body}${END}epilogue`);
      expect(JSON.parse(answer.body)).toMatchObject({ data: { status: 'done', output: { filename } } });
      expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    });
  }
});

describe('content', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());
  const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const cases: Readonly<Record<string, readonly [name: string, content: Buffer, to: string, codes: readonly string[]]>> = {
    'of one byte': ['a.png', Buffer.from([0x89]), 'jpg', ['UNSUPPORTED_MIME']],
    'of a signature alone': ['a.png', PNG, 'jpg', ['CONVERSION_FAILED', 'UNSUPPORTED_MIME']],
    'cut off behind the header': ['a.pdf', Buffer.from('%PDF-1.7\n1 0 obj\n'), 'png', ['CONVERSION_FAILED']],
    'of a Windows program named as a document': [
      'a.docx',
      Buffer.concat([Buffer.from('MZ'), Buffer.alloc(58), Buffer.from([64, 0, 0, 0]), Buffer.from('PE\0\0')]),
      'pdf',
      ['UNSUPPORTED_MIME'],
    ],
    'of a script named as a picture': ['a.png', Buffer.from('#!/bin/sh\nid\n'), 'jpg', ['UNSUPPORTED_MIME']],
    'of a playlist named as a video': ['a.mp4', Buffer.from('#EXTM3U\nhttp://127.0.0.1:1/x\n'), 'mp3', ['UNSUPPORTED_MIME']],
    'of random bytes named as sound': [
      'a.mp3',
      Buffer.from(Array.from({ length: 5_000 }, (_, n) => (n * n * 31 + 7 * n) % 251)),
      'wav',
      ['INVALID_FORMAT', 'UNSUPPORTED_MIME', 'CONVERSION_FAILED'],
    ],
    'of an empty ZIP named as a sheet': [
      'a.xlsx',
      Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]),
      'csv',
      ['INVALID_FORMAT', 'UNSUPPORTED_MIME', 'CONVERSION_FAILED'],
    ],
    'of a GIF that ends at once': ['a.gif', Buffer.from('GIF89a'), 'png', ['CONVERSION_FAILED', 'UNSUPPORTED_MIME']],
    'of a WAV that ends in its head': ['a.wav', headOf(4_000).subarray(0, 30), 'mp3', ['CONVERSION_FAILED']],
  };
  for (const [sentence, [name, bytes, to, codes]] of Object.entries(cases)) {
    it(`${sentence} is refused or fails, and is no fault of ours`, async () => {
      const { status, error } = await convert(service.url, { name, bytes }, to);
      expect(codes).toContain(error?.code);
      expect(status).toBe({ CONVERSION_FAILED: 500, INVALID_FORMAT: 400 }[error?.code ?? ''] ?? 415);
      expect(error?.details['reason']).not.toBe('internal');
      expect(error?.message).not.toMatch(/\/(tmp|var|usr|work)\b/);
    });
  }
});

describe('a client that goes away while it waits', () => {
  it('takes its job along: no process, no order, no file is left', async () => {
    const service = await startService();
    try {
      const video = join(folder, 'long.avi');
      await run('/usr/bin/ffmpeg', [
        '-v',
        'error',
        '-f',
        'lavfi',
        '-i',
        'testsrc2=s=640x360:r=30:d=30',
        '-c:v',
        'mpeg4',
        '-q:v',
        '6',
        '-y',
        video,
      ]);
      const leaving = new AbortController();
      const form = new FormData();
      form.set('to_format', 'webm');
      form.set('file', new Blob([readFileSync(video)]), 'long.avi');
      const answer = fetch(convertAt(service.url), { method: 'POST', body: form, signal: leaving.signal }).catch(
        (error: Error) => error.name,
      );
      await eventually(
        () => programsUnder(process.pid).includes('ffmpeg') && storedIn(service.dataDir).states.includes('running'),
        'the conversion to run',
      );
      leaving.abort();
      expect(await answer).toBe('AbortError');
      await eventually(() => !programsUnder(process.pid).includes('ffmpeg'), 'ffmpeg to end', 5_000);
      await eventually(() => objectsIn(service.dataDir).length === 0, 'the file to go');
      await eventually(() => storedIn(service.dataDir).orders === 0, 'the order to go');
      expect(storedIn(service.dataDir).states).toEqual(['cancelled']);
    } finally {
      await service.stop();
    }
  });
});

/** Mounting takes root, which a plain developer is not. */
describe.skipIf(process.getuid?.() !== 0)('a full disk', () => {
  const mount = (at: string, size: string) => execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', at]);
  const unmount = (at: string) => execFileSync('/usr/bin/umount', ['-l', at]);
  const large = { name: 'a.csv', bytes: Buffer.alloc(8 << 20, 'kestrel,7\n') };

  /** A server whose folders lie on small disks; unmounted whatever happens. */
  async function onDisks(
    disks: readonly (readonly [at: string, size: string])[],
    dataDir: string,
    work: (server: ServiceProcess) => Promise<void>,
  ) {
    const mounted: string[] = [];
    let server: ServiceProcess | undefined;
    try {
      for (const [at, size] of disks) {
        await mkdir(at, { recursive: true });
        mount(at, size);
        mounted.unshift(at);
      }
      server = await startProcess(dataDir, {}, { WORK_DIR: `${dataDir}-work` });
      await work(server);
    } finally {
      if (server !== undefined) await endProcess(server);
      for (const at of mounted) unmount(at);
    }
  }

  it('under the files answers 503, leaves nothing, and does not last', async () => {
    const dataDir = join(folder, 'full');
    await onDisks([[join(dataDir, 'objects'), '4m']], dataDir, async ({ url }) => {
      const { status, headers, error } = await convert(url, large, 'html');
      expect([status, error?.code, headers.get('retry-after')]).toEqual([503, 'OVERLOADED', '5']);
      expect(objectsIn(dataDir)).toEqual([]);
      expect(storedIn(dataDir).states).toEqual([]);
      expect((await convert(url, TABLE, 'html')).data?.status).toBe('done');
    });
  });

  it('under the records answers 503 and does not last', async () => {
    const dataDir = join(folder, 'full-records');
    const disks = [
      [dataDir, '8m'],
      [join(dataDir, 'objects'), '8m'],
    ] as const;
    await onDisks(disks, dataDir, async ({ url }) => {
      expect((await convert(url, TABLE, 'html')).data?.status).toBe('done');
      const before = storedIn(dataDir).states.length;
      const ballast = join(dataDir, 'ballast');
      expect(() => execFileSync('/usr/bin/dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k'], { stdio: 'ignore' })).toThrow();
      // The log that writes go to still has room for some records.
      const refused = await eventually(async () => {
        const answer = await convert(url, TABLE, 'html', {}, { prefer: 'respond-async' });
        return answer.status !== 200 && answer;
      }, 'the records to be full');
      expect([refused.status, refused.error?.code, refused.headers.get('retry-after')]).toEqual([503, 'OVERLOADED', '5']);
      await rm(ballast);
      expect((await convert(url, TABLE, 'html')).data?.status).toBe('done');
      expect(storedIn(dataDir).states.length).toBeGreaterThan(before);
      await eventually(() => storedIn(dataDir).orders === 0, 'every accepted job to end', 60_000);
    });
  });
});
