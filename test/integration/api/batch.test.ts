/** Batches over HTTP: each file a separate job, one bad file fails alone, and all results come in one ZIP. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, newObjectsIn, objectsIn } from '../../kit/api/wire.ts';
import { type Service, startService } from '../../kit/roles/service.ts';

let service: Service;
let home: string;
const clock = { skew: 0 };
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-batch-'));
  service = await startService({ api: { maxFileBytes: 100_000 }, worker: { slots: { media: 0 } } }, () => Date.now() + clock.skew);
});
afterAll(async () => {
  await service?.stop();
  await rm(home, { recursive: true, force: true });
});

interface Entry {
  readonly filename: string;
  readonly job_id: string;
  readonly status: string;
  readonly to_format?: string;
  readonly output?: { readonly filename: string; readonly url: string };
  readonly error?: { readonly code: string; readonly message: string; readonly details: Record<string, unknown> };
}
interface Batch {
  readonly batch_id: string;
  readonly overall_status: string;
  readonly counts: Record<string, number>;
  readonly expires_at: string;
  readonly links: { readonly self: string; readonly output: string };
  readonly jobs: readonly Entry[];
}
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: Batch;
  readonly error?: { readonly code: string; readonly details: Record<string, unknown> };
}

const read = async (response: Response): Promise<Answer> => ({
  status: response.status,
  headers: response.headers,
  ...((await response.json()) as object),
});
async function post(files: readonly (readonly [string, Uint8Array])[], fields: Record<string, string>, name = 'files[]'): Promise<Answer> {
  const body = new FormData();
  for (const [key, value] of Object.entries(fields)) body.set(key, value);
  for (const [filename, bytes] of files) body.append(name, new Blob([bytes as Uint8Array<ArrayBuffer>]), filename);
  return read(await fetch(`${service.url}/api/v1/batch`, { method: 'POST', body }));
}
const get = async (batch: Batch | undefined) => read(await fetch(batch?.links.self ?? ''));
const over = async (batch: Batch | undefined): Promise<Batch> =>
  eventually(
    async () => {
      const { data } = await get(batch);
      return data?.overall_status === 'processing' ? undefined : data;
    },
    'the batch to end',
    90_000,
  );

/** One plain colour. */
const picture = async (red: number): Promise<Buffer> =>
  sharp({ create: { width: 32, height: 24, channels: 3, background: { r: red, g: 90, b: 30 } } })
    .png()
    .toBuffer();
const redOf = async (bytes: Uint8Array): Promise<number> => (await sharp(bytes).raw().toBuffer())[0] ?? 0;
const TABLE = Buffer.from('name,size\nkestrel,7\n');
const NOISE = Buffer.from([0, 1, 2, 250, 3, 9, 200, 4]);

/** Else unzip writes letters beyond ASCII as their numbers. */
const UTF8 = { env: { ...process.env, LC_ALL: 'C.UTF-8' } };

async function unzipped(url: string): Promise<Map<string, Buffer>> {
  const path = join(home, `${Math.random()}.zip`);
  await writeFile(path, Buffer.from(await (await fetch(url)).arrayBuffer()));
  const names = execFileSync('/usr/bin/unzip', ['-Z1', path], UTF8).toString().trim().split('\n');
  return new Map(names.map((name) => [name, execFileSync('/usr/bin/unzip', ['-p', path, name.replace(/[[\]*?]/g, '\\$&')], UTF8)]));
}

describe('a batch of pictures', () => {
  let batch: Batch;
  beforeAll(async () => {
    const files = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => [n === 3 ? 'é 2.png' : 'a.png', await picture(n * 12)] as const),
    );
    const { status, data } = await post(files, { to_format: 'jpg', img_quality: '95' });
    expect(status).toBe(200);
    expect(data?.batch_id).toMatch(/^bat_[0-9a-f]{16}$/);
    expect(data?.counts['total']).toBe(20);
    batch = await over(data);
  });

  it('ends with all of them done, in the order sent', async () => {
    expect(batch).toMatchObject({ overall_status: 'done', counts: { total: 20, processing: 0, done: 20, failed: 0 } });
    expect(batch.jobs.map(({ filename }) => filename)).toEqual(Array.from({ length: 20 }, (_, n) => (n === 3 ? 'é 2.png' : 'a.png')));
    for (const [n, { output }] of batch.jobs.entries())
      expect(Math.abs((await redOf(new Uint8Array(await (await fetch(output?.url ?? '')).arrayBuffer()))) - n * 12)).toBeLessThan(8);
  });

  it('has each job by itself too', async () => {
    const { data } = (await (await fetch(`${service.url}/api/v1/jobs/${batch.jobs[7]?.job_id}`)).json()) as { data: object };
    expect(data).toMatchObject({ status: 'done', output: { filename: 'a-filemill.jpg' } });
  });

  it('comes as one ZIP, with equal names numbered', async () => {
    const head = await fetch(batch.links.output, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), head.headers.get('accept-ranges')]).toEqual([200, 'application/zip', 'none']);
    const response = await fetch(batch.links.output, { headers: { range: 'bytes=0-3' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/zip');
    expect(response.headers.get('content-disposition')).toContain(batch.batch_id);
    const files = await unzipped(batch.links.output);
    expect([...files.keys()].slice(0, 5)).toEqual([
      'a-filemill.jpg',
      'a-filemill-2.jpg',
      'a-filemill-3.jpg',
      'é 2-filemill.jpg',
      'a-filemill-4.jpg',
    ]);
    expect(files.size).toBe(20);
    expect(Math.abs((await redOf(files.get('a-filemill-19.jpg') ?? Buffer.alloc(0))) - 19 * 12)).toBeLessThan(8);
  });
});

describe('several targets', () => {
  it('make a job for each file and target, the first file’s first', async () => {
    const before = objectsIn(service.dataDir);
    const files = [['red.png', await picture(200)] as const, ['noise.bin', NOISE] as const];
    const { data } = await post(files, { to_format: ' webp,jpg,webp' });
    const batch = await over(data);
    expect(batch.jobs.map(({ filename, to_format, status, error }) => [filename, to_format, status, error?.code])).toEqual([
      ['red.png', 'webp', 'done', undefined],
      ['red.png', 'jpg', 'done', undefined],
      ['noise.bin', 'webp', 'error', 'UNSUPPORTED_MIME'],
      ['noise.bin', 'jpg', 'error', 'UNSUPPORTED_MIME'],
    ]);
    expect([...(await unzipped(batch.links.output)).keys()]).toEqual(['red-filemill.webp', 'red-filemill.jpg', 'errors.json']);
    for (const [at, format] of ['webp', 'jpeg'].entries()) {
      const bytes = Buffer.from(await (await fetch(batch.jobs[at]?.output?.url ?? '')).arrayBuffer());
      expect((await sharp(bytes).metadata()).format).toBe(format);
      expect(Math.abs((await redOf(bytes)) - 200)).toBeLessThan(8);
    }
    // Nothing but the results is left of the copies.
    await eventually(async () => newObjectsIn(service.dataDir, before).every((key) => key.includes('output')), 'the inputs to be removed');
  });
  it('may be several fields, and a list in JSON that names an upload', async () => {
    const body = new FormData();
    for (const target of ['html', 'tsv']) body.append('to_format', target);
    body.append('files[]', new Blob([TABLE]), 'a.csv');
    const form = await over((await read(await fetch(`${service.url}/api/v1/batch`, { method: 'POST', body }))).data);
    expect(form.jobs.map(({ to_format, status }) => [to_format, status])).toEqual([
      ['html', 'done'],
      ['tsv', 'done'],
    ]);
    const upload = new FormData();
    upload.set('file', new Blob([TABLE]), 'b.csv');
    const kept = await (await fetch(`${service.url}/api/v1/uploads`, { method: 'POST', body: upload })).json();
    const json = JSON.stringify({ upload_ids: [(kept as { data: { upload_id: string } }).data.upload_id], to_format: ['html', 'json'] });
    const headers = { 'content-type': 'application/json' };
    const named = await over((await read(await fetch(`${service.url}/api/v1/batch`, { method: 'POST', body: json, headers }))).data);
    expect(named.jobs.map(({ output }) => output?.filename)).toEqual(['b-filemill.html', 'b-filemill.json']);
  });
  it('are refused beyond the bound before anything is copied, and for a single job', async () => {
    const before = objectsIn(service.dataDir);
    const files = Array.from({ length: 7 }, (_, at) => [`${at}.csv`, TABLE] as const);
    const { error } = await post(files, { to_format: 'html,tsv,json' });
    expect(error).toMatchObject({ code: 'BATCH_TOO_LARGE', details: { max_files: 20, received_files: 21 } });
    const body = new FormData();
    body.set('file', new Blob([TABLE]), 'a.csv');
    body.set('to_format', 'html,tsv');
    const one = await read(await fetch(`${service.url}/api/v1/convert`, { method: 'POST', body }));
    expect(one).toMatchObject({ status: 400, error: { code: 'INVALID_FORMAT', message: expect.stringContaining('/api/v1/batch') } });
    expect(objectsIn(service.dataDir)).toEqual(before);
  });
});

it('one bad file fails alone, and says in its entry what it would have said alone', async () => {
  const sent = [
    ['good.png', await picture(40)],
    ['noise.bin', NOISE],
    ['empty.png', Buffer.alloc(0)],
    ['table.csv', TABLE],
    ['torn.png', (await picture(9)).subarray(0, 60)],
  ] as const;
  const { status, data } = await post(sent, { to_format: 'webp' }, 'files');
  expect(status).toBe(200);
  const batch = await over(data);
  expect(batch).toMatchObject({ overall_status: 'failed', counts: { total: 5, processing: 0 } });
  const codes = Object.fromEntries(batch.jobs.map(({ filename, error }) => [filename, error?.code ?? 'done']));
  expect(codes).toMatchObject({
    'good.png': 'done',
    'noise.bin': 'UNSUPPORTED_MIME',
    'empty.png': 'NO_FILE',
    'torn.png': 'CONVERSION_FAILED',
  });
  const alone = await fetch(`${service.url}/api/v1/jobs/${batch.jobs[1]?.job_id}`);
  expect(alone.status).toBe(500);
  expect(await alone.json()).toMatchObject({ error: { code: 'CONVERSION_FAILED', details: { reason: 'unsupported_mime' } } });
  const files = await unzipped(batch.links.output);
  const report = JSON.parse(files.get('errors.json')?.toString() ?? '[]') as { filename: string; code: string }[];
  expect(report.map(({ filename }) => filename)).toEqual(
    batch.jobs.filter(({ error }) => error !== undefined).map(({ filename }) => filename),
  );
});

it("an option that does not fit one of the files fails that file alone, as the client's mistake", async () => {
  const wide = await sharp({ create: { width: 64, height: 24, channels: 3, background: '#205a1e' } })
    .png()
    .toBuffer();
  const { data } = await post(
    [
      ['wide.png', wide],
      ['small.png', await picture(40)],
    ],
    { to_format: 'jpg', img_crop_w: '48' },
  );
  const { jobs } = await over(data);
  expect(jobs.map(({ error }) => error?.code)).toEqual([undefined, 'INVALID_OPTION']);
  // The job itself gives the same answer to every client, at any time.
  const answer = await read(await fetch(`${service.url}/api/v1/jobs/${jobs[1]?.job_id}`));
  expect(answer).toMatchObject({
    status: 400,
    error: {
      code: 'INVALID_OPTION',
      message: 'The picture has 32 columns; the crop ends at column 48.',
      details: { option: 'img_crop_w', received: '48', allowed: '1 to 32 px from there on in this picture', job_id: jobs[1]?.job_id },
    },
  });
});

it('of nothing but bad files has no output', async () => {
  const { data } = await post([['noise.bin', NOISE]], { to_format: 'png' });
  expect(data).toMatchObject({ overall_status: 'failed', counts: { total: 1, failed: 1 } });
  const answer = await read(await fetch(data?.links.output ?? ''));
  expect(answer).toMatchObject({ status: 500, error: { code: 'CONVERSION_FAILED' } });
});

it.each(['file', 'files[]', 'files', 'files[0]'])('takes its files in %s as well', async (field) => {
  const { status, data } = await post(
    [
      ['a.png', await picture(1)],
      ['b.png', await picture(2)],
    ],
    { to_format: 'jpg' },
    field,
  );
  expect([status, (await over(data)).counts]).toMatchObject([200, { total: 2, done: 2 }]);
});

describe('a batch is refused as a whole', () => {
  const png = picture(1);
  it.each([
    ['without files', 400, 'NO_FILE', async () => post([], { to_format: 'png' }), {}],
    [
      'with one file too many',
      400,
      'BATCH_TOO_LARGE',
      async () => post(Array(21).fill(['a.csv', TABLE]), { to_format: 'html' }),
      { max_files: 20, received_files: 21 },
    ],
    [
      'with a field left empty before as many files as there may be: none of them is lost',
      400,
      'BATCH_TOO_LARGE',
      async () => post([['', Buffer.alloc(0)], ...Array<[string, Buffer]>(20).fill(['a.csv', TABLE])], { to_format: 'html' }),
      { max_files: 20, received_files: 21 },
    ],
    ['without a format', 400, 'INVALID_FORMAT', async () => post([['a.png', await png]], {}), {}],
    ['for an unknown format', 400, 'INVALID_FORMAT', async () => post([['a.png', await png]], { to_format: 'zzz' }), { to_format: 'zzz' }],
    ['with a wrong option', 400, 'INVALID_OPTION', async () => post([['a.png', await png]], { to_format: 'jpg', img_quality: '101' }), {}],
    [
      'with one file that is too large',
      413,
      'FILE_TOO_LARGE',
      async () =>
        post(
          [
            ['a.csv', TABLE],
            ['large.csv', Buffer.alloc(100_001, 97)],
          ],
          { to_format: 'html' },
        ),
      { filename: 'large.csv', max_bytes: 100_000 },
    ],
  ])('%s', async (_, status, code, send, details) => {
    const before = objectsIn(service.dataDir);
    expect(await send()).toMatchObject({ status, error: { code, details } });
    expect(newObjectsIn(service.dataDir, before)).toEqual([]);
  });
});

describe('a batch that waits', () => {
  const sound = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0', 'latin1'), Buffer.alloc(2_000)]);

  it('is processing, and its output is not there yet', async () => {
    const { data } = await post([['a.wav', sound]], { to_format: 'mp3' });
    expect((await get(data)).data).toMatchObject({ overall_status: 'processing', counts: { processing: 1 } });
    const answer = await read(await fetch(data?.links.output ?? ''));
    expect(answer).toMatchObject({ status: 409, error: { code: 'JOB_NOT_READY' } });
    expect(answer.headers.get('retry-after')).toBe('1');
    await fetch(data?.links.self ?? '', { method: 'DELETE' });
  });

  it('is gone when it is deleted, and so are its files', async () => {
    const before = objectsIn(service.dataDir);
    const { data } = await post(
      [
        ['a.wav', sound],
        ['b.wav', sound],
      ],
      { to_format: 'mp3' },
    );
    for (let n = 0; n < 2; n++) expect((await fetch(data?.links.self ?? '', { method: 'DELETE' })).status).toBe(204);
    for (const path of [data?.links.self, data?.links.output, `${service.url}/api/v1/jobs/${data?.jobs[0]?.job_id}`])
      expect((await fetch(path ?? '')).status).toBe(410);
    expect(newObjectsIn(service.dataDir, before)).toEqual([]);
  });
});

it('expires with its last job', async () => {
  const { data } = await post([['a.png', await picture(7)]], { to_format: 'jpg' });
  const { expires_at } = await over(data);
  clock.skew = Date.parse(expires_at) - Date.now() + 1_000;
  try {
    expect((await get(data)).status).toBe(410);
  } finally {
    clock.skew = 0;
  }
});

it.each(['bat_0123456789abcdef', 'bat_x', 'nothing'])('there is no batch %s', async (id) => {
  for (const path of ['', '/output'])
    expect(await read(await fetch(`${service.url}/api/v1/batches/${id}${path}`))).toMatchObject({
      status: 404,
      error: { code: 'JOB_NOT_FOUND' },
    });
});
