/** What image-to-text answers: the text itself, in five languages, of pictures and of PDFs, and never an output. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longTextOf } from '../../../src/api/jobs/long-text.ts';
import { MAX_TEXT_BYTES, readText } from '../../../src/api/jobs/text.ts';
import { engines } from '../../../src/catalog/engines.gen.ts';
import { routesOf } from '../../../src/catalog/routes/routes.ts';
import { tool } from '../../../src/catalog/tools/ai/image-to-text.ts';
import type { JobRecord, StoredOutput } from '../../../src/jobs/record.ts';
import { aRecord } from '../../conformance/samples.ts';
import { callTool, type Sent } from '../../kit/api/tools.ts';
import { contentOf, pagesOf } from '../../kit/catalog/content.ts';
import { scannedPdf } from '../../kit/fixtures/documents/documents.ts';
import { denseText } from '../../kit/fixtures/documents/outlined.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import type { Answer, JobBody, Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
const LATIN = '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf';
const JAPANESE = '/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc';

let service: Pick<Service, 'url'>;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-text-'));
  service = await sharedService();
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

type TextJob = JobBody & { readonly text: string; readonly language: string; readonly pages: number };
const read = (file: Sent, fields: Readonly<Record<string, string>> = {}) => callTool(service, 'image-to-text', file, fields);
function textOf({ status, data, error }: Answer): TextJob {
  if (data?.status !== 'done') throw new Error(`${status} ${JSON.stringify(error ?? data)}`);
  return data as TextJob;
}
const bare = (text: string) => text.normalize('NFC').replaceAll(/\s+/g, '');

async function picture(text: string, name: string, font = LATIN): Promise<string> {
  const path = join(await mkdtemp(join(home, 'a-')), name);
  await run(CONVERT, ['-size', '1200x140', 'xc:white', '-font', font, '-pointsize', '56', '-annotate', '+20+90', text, path]);
  return path;
}

describe('image-to-text', () => {
  it.each([
    ['eng', 'The lantern in the orchard', LATIN],
    ['deu', 'Größe und Übermut, außen süß', LATIN],
    ['fra', 'Le garçon a été très fâché', LATIN],
    ['rus', 'Привет из холодной Москвы', LATIN],
    ['jpn', '日本語の文章を読みます', JAPANESE],
  ])('reads %s: %s', async (language, words, font) => {
    const job = textOf(await read(await picture(words, 'words.png', font), { ocr_lang: language }));
    expect([bare(job.text), job.language, job.pages]).toEqual([bare(words), language, 1]);
  });

  it('reads English unless told otherwise, and up to three languages at once', async () => {
    const file = await picture('marble kestrel', 'words.jpg');
    expect(textOf(await read(file))).toMatchObject({ language: 'eng', pages: 1, text: expect.stringContaining('marble kestrel') });
    expect(textOf(await read(file, { ocr_lang: 'deu+eng+fra' }))).toMatchObject({ language: 'deu+eng+fra' });
    expect(bare(textOf(await read(await picture('Москва', 'words.png'))).text)).not.toContain('Москва');
  });

  it('reads a format that Tesseract does not know', async () => {
    expect(textOf(await read(await picture('granite falcon', 'words.psd'))).text).toContain('granite falcon');
  });

  it('parts the pages of a scan and of a text with form feeds, and counts them', async () => {
    const seed = 'pages of pictures';
    const scan = textOf(await read(await scannedPdf(seed, await mkdtemp(join(home, 'a-')), [2])));
    const pages = scan.text.split('\f');
    expect([pages.length, scan.pages]).toEqual([3, 3]);
    for (const [index, words] of pagesOf(contentOf(seed)).entries()) for (const word of words) expect(pages[index]).toContain(word);
    const written = textOf(await read({ name: 'text.pdf', bytes: pdf([['one'], [], ['three']]) }));
    expect([written.text.split('\f').map((page) => page.trim()), written.pages]).toEqual([['one', '', 'three'], 3]);
    const tiff = join(home, 'two.tiff');
    await run(CONVERT, [await picture('timber', 'a.png'), await picture('ribbon', 'b.png'), tiff]);
    const many = textOf(await read(tiff));
    expect([many.text.split('\f').map((page) => page.trim()), many.pages]).toEqual([['timber', 'ribbon'], 2]);
  });

  it('answers with the text, without an output, whose address is not found', async () => {
    const job = textOf(await read(await picture('silver', 'words.png')));
    expect(Object.keys(job).sort()).toEqual(
      ['created_at', 'engine', 'expires_at', 'job_id', 'language', 'links', 'pages', 'status', 'text', 'warnings'].sort(),
    );
    const again = (await (await fetch(job.links.self)).json()) as { data: TextJob };
    expect(again.data).toEqual(job);
    for (const path of ['', '?download=1']) {
      const response = await fetch(`${job.links.output}${path}`);
      expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([404, 'NOT_FOUND']);
    }
    const events = await (await fetch(`${job.links.self}/events`)).text();
    expect(events).toContain('"language":"eng"');
    await fetch(job.links.self, { method: 'DELETE' });
    expect((await fetch(job.links.self)).status).toBe(410);
  });

  it('answers with the job where a download was asked for', async () => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(await readFile(await picture('copper', 'words.png')))]), 'words.png');
    const response = await fetch(`${service.url}/api/v1/tools/image-to-text?download=1`, {
      method: 'POST',
      body: form,
      redirect: 'manual',
    });
    expect([response.status, ((await response.json()) as { data: TextJob }).data.text.trim()]).toEqual([200, 'copper']);
  });

  it('cuts a text after 1 MiB, says so, and counts all its pages', async () => {
    const job = textOf(await read({ name: 'dense.pdf', bytes: denseText(40) }));
    expect(Buffer.byteLength(job.text)).toBe(MAX_TEXT_BYTES);
    expect([job.pages, job.warnings.map(({ code }) => code).includes('text_cut')]).toEqual([40, true]);
  });

  it('refuses languages that are not there, or more than three', async () => {
    const file = await picture('a', 'words.png');
    for (const language of ['xxx', 'english', 'eng+', 'eng+deu+fra+spa', '../eng']) {
      const { status, error } = await read(file, { ocr_lang: language });
      expect([status, error?.code, error?.details['option'], error?.details['received']]).toEqual([
        400,
        'INVALID_OPTION',
        'ocr_lang',
        language,
      ]);
      expect(error?.details['allowed']).toContain('chi_tra');
    }
  });

  it('refuses what is no picture and no PDF, and says of damaged and locked ones what they are', async () => {
    const { status, error } = await read({ name: 'a.txt', bytes: Buffer.from('plain words') });
    expect([status, error?.code]).toEqual([415, 'UNSUPPORTED_MIME']);
    expect(error?.details['accepted']).toEqual(expect.arrayContaining(['png', 'jpg', 'pdf']));
    expect((await read({ name: 'a.pdf', bytes: Buffer.from('%PDF-1.4\nnothing\n%%EOF\n') })).error?.details['reason']).toBe(
      'corrupt_input',
    );
    const [open, locked] = [join(home, 'open.pdf'), join(home, 'locked.pdf')];
    await writeFile(open, pdf([['a']]));
    await run('qpdf', ['--encrypt', 'x', 'x', '256', '--', open, locked]);
    expect((await read(locked)).error?.details['reason']).toBe('password_required');
  });

  it('takes less than a conversion does: 16 megapixels, 25 MiB', async () => {
    const large = join(home, 'large.png');
    await run(CONVERT, ['-size', '4001x4000', 'xc:white', large]);
    expect((await read(large)).error?.details).toMatchObject({
      reason: 'input_limit',
      limit: 'pixels',
      max: 16_000_000,
      received: 16_004_000,
    });
    const heavy = await read({ name: 'a.png', bytes: Buffer.alloc(26_214_401) });
    expect(heavy).toMatchObject({ status: 413, error: { code: 'FILE_TOO_LARGE', details: { max_bytes: 26_214_400 } } });
  });

  it('has a way for every format that it takes', () => {
    const routes = routesOf(engines);
    const without = tool.accepts.filter((format) => routes.find(format, 'txt', ['ocr_lang']) === undefined);
    expect([without, tool.accepts.length]).toEqual([[], expect.any(Number)]);
  });
});

describe('a stored text', () => {
  const stored = (...chunks: Buffer[]) => {
    const output = { key: 'k', sizeBytes: Buffer.concat(chunks).length } as StoredOutput;
    return readText({ get: async () => Readable.from(chunks) }, output);
  };

  it('has as many pages as form feeds end, and one at least', async () => {
    expect(await stored(Buffer.from('a\fb\f'))).toEqual({ text: 'a\fb', pages: 2, cut: false });
    expect(await stored(Buffer.from('a\fb'), Buffer.from('\fc'))).toEqual({ text: 'a\fb\fc', pages: 3, cut: false });
    expect(await stored(Buffer.from('\f'))).toEqual({ text: '', pages: 1, cut: false });
    expect(await stored()).toEqual({ text: '', pages: 1, cut: false });
  });

  it('of exactly 1 MiB is whole, and of a byte more is cut between two letters', async () => {
    expect(await stored(Buffer.alloc(MAX_TEXT_BYTES, 'a'))).toMatchObject({ text: 'a'.repeat(MAX_TEXT_BYTES), cut: false });
    const odd = await stored(Buffer.from('a'), Buffer.from('é'.repeat(MAX_TEXT_BYTES / 2)), Buffer.from('\f'));
    expect([odd.cut, odd.pages, odd.text]).toEqual([true, 1, `a${'é'.repeat(MAX_TEXT_BYTES / 2 - 1)}`]);
  });

  it('is read from the store as far as its client reads it, and is whole in the end', async () => {
    const chunks = Array.from({ length: 16 }, (_, at) => Buffer.from(`"${at}" é\n`.padEnd(65_534, String(at % 10))));
    let given = 0;
    const get = async () => Readable.from(chunks.values().map((chunk) => ++given && chunk));
    const sizeBytes = Buffer.concat(chunks).length;
    const output = { key: 'k', sizeBytes, filename: 'a.txt', contentType: 'text/plain', files: 1, sha256: '' };
    const record = { ...aRecord(), state: 'done', tool: { slug: tool.slug, input: { ocr_lang: 'eng' } }, output } as JobRecord;
    const current = { tools: new Map([[tool.slug, tool]]) };
    const deps = { catalogue: { current }, files: { objects: { get } } } as unknown as Parameters<typeof longTextOf>[0];
    const stream = await longTextOf(deps, 'http://localhost', record);
    given = 0;
    const pieces = stream?.iterator() as AsyncIterableIterator<string>;
    let body = (await pieces.next()).value as string;
    body += (await pieces.next()).value as string;
    await pause(20);
    expect(given).toBeLessThan(5);
    for await (const piece of pieces) body += piece;
    const { data } = JSON.parse(body) as { data: TextJob };
    expect(data.text).toBe(Buffer.concat(chunks).toString());
    expect(data).toMatchObject({ job_id: record.id, status: 'done', language: 'eng', pages: 1 });
  });
});
