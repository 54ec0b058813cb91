/** What goes out: jobs that are waited for or polled, their progress, their files by range and by name, and their end. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectTo, END, eventually, field, fileHead, objectsIn, programsUnder, rawForm, storedIn } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import {
  type Answer,
  convert,
  convertTo,
  type JobBody,
  readAnswer,
  type Service,
  startService,
  untilEnded,
} from '../../kit/roles/service.ts';

const run = promisify(execFile);
const TABLE = { name: 'table.csv', bytes: Buffer.from('name,size\nkestrel,7\n') };
const HOUR = 3_600_000;

/** The service's clock runs ahead of the machine's by as much as a test says. */
let ahead = 0;
let service: Service;
let folder: string;
let video: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-outputs-'));
  await chmod(folder, 0o755);
  service = await startService(
    { api: { syncMaxBytes: 8_000_000 }, worker: { slots: { media: 1 } }, upkeep: { intervalMs: 200 } },
    () => Date.now() + ahead,
  );
  // VP9 takes as long for it as it lasts: long enough to be met at work.
  video = join(folder, 'long.avi');
  await run('/usr/bin/ffmpeg', [
    '-v',
    'error',
    '-f',
    'lavfi',
    '-i',
    'testsrc2=s=640x360:r=30:d=20',
    '-c:v',
    'mpeg4',
    '-q:v',
    '6',
    '-y',
    video,
  ]);
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const ASYNC = { prefer: 'respond-async' };
const job = async (id: string, init: RequestInit = {}): Promise<Answer> =>
  readAnswer(await fetch(`${service.url}/api/v1/jobs/${id}`, init));
const output = (id: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${service.url}/api/v1/jobs/${id}/output`, { method, headers });
const remove = async (id: string): Promise<number> => (await fetch(`${service.url}/api/v1/jobs/${id}`, { method: 'DELETE' })).status;
const long = async (): Promise<string> => (await convert(service.url, video, 'webm', {}, ASYNC)).data?.job_id ?? '';

async function made(name = TABLE.name, to = 'html'): Promise<JobBody> {
  const { data } = await convert(service.url, { name, bytes: TABLE.bytes }, to);
  expect(data?.status).toBe('done');
  return data as JobBody;
}

describe('a small file', () => {
  it('is done when the answer comes', async () => {
    const { status, headers, data } = await convert(service.url, TABLE, 'html');
    const self = `${service.url}/api/v1/jobs/${data?.job_id}`;
    expect(status).toBe(200);
    expect(headers.has('location')).toBe(false);
    expect(data).toEqual({
      job_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      status: 'done',
      output: {
        filename: 'table-filemill.html',
        save_as: 'table.html',
        size_bytes: expect.any(Number),
        size_human: expect.stringMatching(/^\d+(\.\d)? (B|KB)$/),
        url: `${self}/output`,
        content_type: 'text/html',
        files: 1,
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      links: { self, output: `${self}/output` },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      expires_at: expect.any(String),
      warnings: expect.any(Array),
      engine: { name: expect.any(String), version: expect.stringMatching(/\d/) },
      fidelity: { kept: expect.any(Number), changes: [] },
    });
    expect(Date.parse(data?.expires_at ?? '')).toBeGreaterThanOrEqual(Date.parse(data?.created_at ?? '') + 2 * HOUR);
    expect((await job(data?.job_id ?? '')).data).toEqual(data);
  });

  it('is a redirect to its output where a download is asked for', async () => {
    const form = new FormData();
    form.set('to_format', 'html');
    form.set('file', new Blob([TABLE.bytes]), TABLE.name);
    const response = await fetch(`${service.url}/api/v1/convert?download=1`, { method: 'POST', body: form });
    expect([response.redirected, response.status]).toEqual([true, 200]);
    expect(response.headers.get('content-disposition')).toContain('table-filemill.html');
    expect(await response.text()).toContain('kestrel');
  });

  it('is one command for curl, which takes the name from the answer', async () => {
    const place = await mkdtemp(join(folder, 'curl-'));
    await writeFile(join(place, 'table.csv'), TABLE.bytes);
    await run('/usr/bin/curl', ['-sSLOJ', '-F', 'file=@table.csv', '-F', 'to_format=html', `${service.url}/api/v1/convert?download=1`], {
      cwd: place,
    });
    expect(await readFile(join(place, 'table-filemill.html'), 'utf8')).toContain('kestrel');
  });

  it('leaves no input behind', async () => {
    const { job_id } = await made();
    expect(
      objectsIn(service.dataDir)
        .filter((path) => path.includes(job_id))
        .map((path) => /\/(input|output)[^/]*$/.exec(path)?.[1]),
    ).toEqual(['output']);
  });
});

describe('a client that does not wait', () => {
  it('is told where to ask, and the wait is not taken', async () => {
    const { status, headers, data } = await convert(service.url, TABLE, 'html', {}, { prefer: 'handling=lenient, respond-async' });
    expect([status, data?.status, headers.get('preference-applied'), headers.get('retry-after'), headers.get('location')]).toEqual([
      200,
      'processing',
      'respond-async',
      '1',
      data?.links.self,
    ]);
    expect(data?.output).toBeUndefined();
    expect((await untilEnded(service.url, data?.job_id ?? '')).data?.status).toBe('done');
  });

  it('is also one that sends a large file', async () => {
    const bytes = Buffer.concat([Buffer.from(`P6\n2000 1400\n255\n`), Buffer.alloc(2000 * 1400 * 3, 90)]);
    const { headers, data } = await convert(service.url, { name: 'wall.ppm', bytes }, 'png');
    expect([data?.status, headers.get('location'), headers.has('preference-applied')]).toEqual(['processing', data?.links.self, false]);
    expect((await untilEnded(service.url, data?.job_id ?? '')).data?.output?.content_type).toBe('image/png');
  });

  it('gets the job and no redirect, even with a download in mind', async () => {
    const form = new FormData();
    form.set('to_format', 'html');
    form.set('file', new Blob([TABLE.bytes]), TABLE.name);
    const response = await fetch(`${service.url}/api/v1/convert?download=1`, {
      method: 'POST',
      body: form,
      redirect: 'manual',
      headers: ASYNC,
    });
    expect([response.status, ((await response.json()) as { data: JobBody }).data.status]).toEqual([200, 'processing']);
  });
});

describe('progress', () => {
  it('rises as ffmpeg tells it, and never reaches 100', async () => {
    const id = await long();
    const seen: number[] = [];
    const last = await eventually(
      async () => {
        const { data } = await job(id);
        if (data?.progress !== undefined) seen.push(data.progress);
        return data?.status !== 'processing' && data;
      },
      'the end of the conversion',
      100_000,
    );
    expect(last.status).toBe('done');
    expect(last.progress).toBeUndefined();
    expect(new Set(seen).size).toBeGreaterThan(3);
    expect(seen).toEqual([...seen].sort((left, right) => left - right));
    expect(Math.max(...seen)).toBeLessThanOrEqual(99);
  });

  it('is absent where the engine tells none', async () => {
    const { data } = await convert(service.url, TABLE, 'pdf', {}, ASYNC);
    let running = 0;
    await eventually(async () => {
      const answer = await job(data?.job_id ?? '');
      if (answer.data?.status !== 'processing') return true;
      expect(answer.data).not.toHaveProperty('progress');
      running++;
      return false;
    }, 'the end of the conversion');
    expect(running).toBeGreaterThan(0);
  });
});

describe('an output', () => {
  let done: JobBody;
  let whole: Buffer;
  let etag: string;
  beforeAll(async () => {
    done = await made();
    const response = await output(done.job_id);
    whole = Buffer.from(await response.arrayBuffer());
    etag = response.headers.get('etag') ?? '';
  });

  it('comes whole, as what it is, and harmless to browsers', async () => {
    const { status, headers } = await output(done.job_id);
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html',
      'content-length': String(whole.length),
      'content-disposition': `attachment; filename="table-filemill.html"; filename*=UTF-8''table-filemill.html`,
      'accept-ranges': 'bytes',
      etag: `"${done.output?.sha256}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, no-store',
      'x-robots-tag': 'noindex',
      'access-control-allow-origin': '*',
      'x-request-id': expect.any(String),
    });
    expect([whole.length, createHash('sha256').update(whole).digest('hex')]).toEqual([done.output?.size_bytes, done.output?.sha256]);
  });

  it('answers HEAD with the same headers and no body, whatever range is asked for', async () => {
    const [head, full] = [await output(done.job_id, { range: 'bytes=0-3' }, 'HEAD'), await output(done.job_id)];
    const of = ({ headers }: Response) =>
      Object.fromEntries([...headers].filter(([name]) => !['date', 'x-request-id', 'connection', 'keep-alive'].includes(name)));
    expect([head.status, of(head)]).toEqual([200, of(full)]);
    expect(await head.text()).toBe('');
    await full.arrayBuffer();
  });

  const ranges: Readonly<Record<string, (size: number) => readonly [header: string, first: number, last: number]>> = {
    'the first bytes': () => ['bytes=0-9', 0, 9],
    'some in the middle': () => ['bytes=5-7', 5, 7],
    'all from one on': (size) => ['bytes=20-', 20, size - 1],
    'the last ones': (size) => ['bytes=-6', size - 6, size - 1],
    'more than there is': (size) => ['bytes=10-99999999', 10, size - 1],
    'the last of more than there is': (size) => ['bytes=-99999999', 0, size - 1],
  };
  for (const [sentence, rangeOf] of Object.entries(ranges)) {
    it(`gives ${sentence}`, async () => {
      const [header, first, last] = rangeOf(whole.length);
      const response = await output(done.job_id, { range: header });
      expect([response.status, response.headers.get('content-range')]).toEqual([206, `bytes ${first}-${last}/${whole.length}`]);
      expect(Buffer.from(await response.arrayBuffer())).toEqual(whole.subarray(first, last + 1));
    });
  }

  for (const header of ['bytes=0-1,4-5', 'bytes=5-2', 'lines=0-1', 'bytes=a-b', 'bytes=-']) {
    it(`is given whole for the range ${header}`, async () => {
      const response = await output(done.job_id, { range: header });
      expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, whole.length]);
    });
  }

  it('refuses a range behind its end, in an answer that does not look like the file', async () => {
    for (const header of [`bytes=${whole.length}-`, 'bytes=-0']) {
      const { status, headers } = await output(done.job_id, { range: header });
      expect([status, headers.get('content-range')]).toEqual([416, `bytes */${whole.length}`]);
      expect([headers.has('content-disposition'), headers.has('etag'), headers.get('content-type')]).toEqual([
        false,
        false,
        'application/json; charset=utf-8',
      ]);
    }
  });

  it('is given by range only while it is still the same', async () => {
    for (const [condition, status] of [
      [etag, 206],
      ['"other"', 200],
      [`W/${etag}`, 200],
      ['Sat, 01 Jan 2028 00:00:00 GMT', 200],
    ] as const) {
      const response = await output(done.job_id, { range: 'bytes=0-3', 'if-range': condition });
      expect([condition, response.status]).toEqual([condition, status]);
      await response.arrayBuffer();
    }
  });

  it('is not sent again to a client that has it', async () => {
    for (const [condition, status] of [
      [etag, 304],
      [`W/${etag}`, 304],
      [`"other", ${etag}`, 304],
      ['*', 304],
      ['"other"', 200],
    ] as const) {
      const response = await output(done.job_id, { 'if-none-match': condition });
      expect([condition, response.status]).toEqual([condition, status]);
      expect((await response.arrayBuffer()).byteLength).toBe(status === 304 ? 0 : whole.length);
      expect(response.headers.get('etag')).toBe(etag);
    }
  });

  it('whose download is broken off stays open nowhere', async () => {
    const lines = Buffer.from(Array.from({ length: 60_000 }, (_, row) => `${row},kestrel`).join('\n'));
    const answer = await convert(service.url, { name: 'long.csv', bytes: lines }, 'html', {}, ASYNC);
    const ended = await untilEnded(service.url, answer.data?.job_id ?? '');
    const id = ended.data?.job_id ?? '';
    for (let n = 0; n < 20; n++) {
      const socket = connectTo(service.url);
      socket.write(`GET /api/v1/jobs/${id}/output HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      socket.destroy();
    }
    const open = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).includes(id);
        } catch {
          return false;
        }
      });
    await eventually(() => open().length === 0, 'every descriptor to be closed');
  });
});

describe('the name of an output', () => {
  const FORBIDDEN = /[\r\n/\\<>:|?*\0\u202e]/;
  const names: Readonly<Record<string, readonly [sent: string, filename: string | RegExp]>> = {
    'with quotes': ['say "hi".csv', 'say hi-filemill.html'],
    'with line breaks': ['a\r\nSet-Cookie: x.csv', 'aSet-Cookie x-filemill.html'],
    'that is not Latin': ['отчёт-日本語.csv', 'отчёт-日本語-filemill.html'],
    'with an emoji': ['🦅.csv', '🦅-filemill.html'],
    'of 300 letters': [`${'a'.repeat(300)}.csv`, `${'a'.repeat(120)}-filemill.html`],
    'of 300 letters that are not Latin': [`${'日'.repeat(300)}.csv`, `${'日'.repeat(40)}-filemill.html`],
    'of 10,000 letters': [`${'a'.repeat(10_000)}.csv`, `${'a'.repeat(120)}-filemill.html`],
    'of dots': ['....', 'file-filemill.html'],
    'of two dots': ['..', 'file-filemill.html'],
    'that is a path': ['../../etc/cron.d/x.csv', 'x-filemill.html'],
    'that is a Windows path': ['C:\\temp\\x.csv', 'x-filemill.html'],
    'that looks like an option': ['--output=x.csv', '--output=x-filemill.html'],
    'that turns the direction of writing': ['a\u202elmth.csv', 'almth-filemill.html'],
    'of a Windows device': ['con.csv', '_con-filemill.html'],
    'with a percent sign': ['100%.csv', '100%-filemill.html'],
    'without an extension': ['table', 'table-filemill.html'],
    'with two extensions': ['a.tar.csv', 'a.tar-filemill.html'],
  };
  for (const [sentence, [sent, filename]] of Object.entries(names)) {
    it(`${sentence} is harmless, in the job and in the header`, async () => {
      const { data, error } = await convert(service.url, { name: sent, bytes: TABLE.bytes }, 'html', { from_format: 'csv' });
      expect(error).toBeUndefined();
      expect(data?.output?.filename).toBe(filename);
      const response = await output(data?.job_id ?? '');
      const disposition = response.headers.get('content-disposition') ?? '';
      const [, plain = '', encoded = ''] =
        /^attachment; filename="([\x20-\x7e]*)"; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+)$/.exec(disposition) ?? [];
      expect(decodeURIComponent(encoded)).toBe(filename);
      expect(plain).toMatch(/^[^"\\%]+-filemill\.html$/);
      expect(filename).not.toMatch(FORBIDDEN);
      await response.arrayBuffer();
      // As people save it.
      const saved = String(filename).replace('-filemill.html', '.html');
      expect(data?.output?.save_as).toBe(saved);
      const { headers } = await fetch(`${data?.output?.url}?name=source`, { method: 'HEAD' });
      expect(headers.get('content-disposition')).toContain(`filename*=UTF-8''${encodeURIComponent(saved)}`);
    });
  }

  it('survives a quote written with a backslash, as curl does', async () => {
    const answer = await rawForm(service.url, `${field('to_format', 'html')}${fileHead('say \\"hi\\".csv')}a,b\r\n${END}`);
    expect((JSON.parse(answer.body) as { data: JobBody }).data.output?.filename).toBe('say hi-filemill.html');
  });
});

describe('options', () => {
  it('reach the engine', async () => {
    const bytes = Buffer.concat([Buffer.from('P6\n40 20\n255\n'), Buffer.alloc(40 * 20 * 3, 120)]);
    await writeFile(join(folder, 'grey.ppm'), bytes);
    const { path } = await convertTo(service.url, folder, join(folder, 'grey.ppm'), 'png', { img_resize_w: '64', img_resize_h: '48' });
    const png = await readFile(path);
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([64, 48]);
  });

  it('give pages of a PDF, one as a file, several as a ZIP', async () => {
    const three = join(folder, 'three.pdf');
    await writeFile(three, pdf([['one'], ['two'], ['three']]));
    const one = await convert(service.url, three, 'png', { pages: '2', dpi: '36' });
    expect(one.data?.output).toMatchObject({ filename: 'three-filemill.png', files: 1, content_type: 'image/png' });
    const all = await convert(service.url, three, 'png', { dpi: '36' });
    expect(all.data?.output).toMatchObject({ filename: 'three-filemill.zip', files: 3, content_type: 'application/zip' });
    expect(all.data?.warnings).toEqual(expect.arrayContaining([expect.objectContaining({ code: 'zip_of_pages' })]));
  });

  it('open a locked PDF with its password, and with no other', async () => {
    const [plain, locked] = [join(folder, 'plain.pdf'), join(folder, 'locked.pdf')];
    await writeFile(plain, pdf([['kestrel']]));
    await run('/usr/bin/qpdf', ['--encrypt', 'tea for two', 'owner', '256', '--', plain, locked]);
    const opened = await convert(service.url, locked, 'png', { password: 'tea for two', dpi: '36' });
    expect([opened.error, opened.data?.status]).toEqual([undefined, 'done']);
    const wrong = await convert(service.url, locked, 'png', { password: 'coffee for one', dpi: '36' });
    const none = await convert(service.url, locked, 'png', { dpi: '36' });
    expect([wrong.error?.details['reason'], none.error?.details['reason']]).toEqual(['wrong_password', 'password_required']);
    expect(JSON.stringify([opened, wrong])).not.toMatch(/tea for two|coffee for one/);
  });

  it('tell apart what the content cannot, by the word of the client', async () => {
    const text = { name: 'notes', bytes: Buffer.from('# Kestrel\n\nseven *birds*\n') };
    const { data } = await convert(service.url, text, 'html', { from_format: 'md' });
    expect(await (await output(data?.job_id ?? '')).text()).toMatch(/<h1[^>]*>Kestrel<\/h1>/);
  });
});

describe('a deleted job', () => {
  const ffmpegs = () => programsUnder(process.pid).filter((name) => name === 'ffmpeg').length;

  it('that is done loses its file at once, and stays deleted', async () => {
    const { job_id } = await made();
    expect([await remove(job_id), await remove(job_id)]).toEqual([204, 204]);
    expect(objectsIn(service.dataDir).filter((path) => path.includes(job_id))).toEqual([]);
    expect((await job(job_id)).error?.code).toBe('JOB_EXPIRED');
    expect((await readAnswer(await output(job_id))).status).toBe(410);
  });

  it('that failed stays deleted too', async () => {
    const { error } = await convert(service.url, { name: 'a.pdf', bytes: Buffer.from('%PDF-1.7\n1 0 obj\n') }, 'png');
    const id = String(error?.details['job_id']);
    expect([await remove(id), await remove(id), (await job(id)).status]).toEqual([204, 204, 410]);
  });

  it('that runs or waits never comes to an end: its processes are gone within five seconds', async () => {
    const [running, waiting] = [await long(), await long()];
    await eventually(() => ffmpegs() > 0, 'the first conversion to run');
    expect((await readAnswer(await output(running))).error?.code).toBe('JOB_NOT_READY');
    expect([await remove(waiting), await remove(running)]).toEqual([204, 204]);
    await eventually(() => ffmpegs() === 0, 'ffmpeg to end', 5_000);
    expect([await remove(waiting), await remove(running)]).toEqual([204, 204]);
    for (const id of [waiting, running]) expect([(await job(id)).status, (await readAnswer(await output(id))).status]).toEqual([410, 410]);
    await eventually(() => storedIn(service.dataDir).orders === 0, 'the orders to go');
    for (const id of [waiting, running]) expect(objectsIn(service.dataDir).filter((path) => path.includes(id))).toEqual([]);
    // The worker is free for others.
    expect((await convert(service.url, { name: 'a.wav', bytes: silence() }, 'flac')).data?.status).toBe('done');
  });
});

/** A second of it: 8 kHz, mono, 8 bit. */
function silence(): Buffer {
  const head = Buffer.from('RIFF\x64\x1f\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x40\x1f\0\0', 'latin1');
  return Buffer.concat([head, Buffer.alloc(8_000, 128)]);
}

describe('an aged job', () => {
  it('is there for two hours after its end, remembered for a day, and then forgotten', async () => {
    const { job_id } = await made();
    const stages: readonly (readonly [hours: number, status: number, code: string | undefined])[] = [
      [1.99, 200, undefined],
      [2.01, 410, 'JOB_EXPIRED'],
      [25.9, 410, 'JOB_EXPIRED'],
      [26.1, 404, 'JOB_NOT_FOUND'],
    ];
    try {
      for (const [hours, status, code] of stages) {
        ahead = hours * HOUR;
        const answer = await job(job_id);
        expect([hours, answer.status, answer.error?.code]).toEqual([hours, status, code]);
        const file = await output(job_id);
        expect([hours, file.status]).toEqual([hours, status]);
        await file.arrayBuffer();
        if (status === 410)
          await eventually(() => objectsIn(service.dataDir).every((path) => !path.includes(job_id)), 'the file to be removed');
      }
      expect(await remove(job_id)).toBe(404);
    } finally {
      ahead = 0;
    }
  });

  it('that never ended is still there', async () => {
    const idle = await startService({ worker: { slots: { media: 0 } } }, () => Date.now() + ahead);
    try {
      const { data } = await convert(idle.url, { name: 'a.wav', bytes: silence() }, 'flac', {}, ASYNC);
      ahead = 0.9 * HOUR;
      expect((await readAnswer(await fetch(data?.links.self ?? ''))).data?.status).toBe('processing');
    } finally {
      ahead = 0;
      await idle.stop();
    }
  });
});
