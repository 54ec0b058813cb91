/** What each option of pages does, through HTTP: resolution, selection, passwords, OCR; judged by poppler, qpdf and the words found. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { picturedPage, scannedPdf } from '../../kit/fixtures/documents/documents.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { judge } from '../../kit/judges/documents/documents.ts';
import { unzip } from '../../kit/judges/documents/text.ts';
import { convert, convertTo, type Service } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

const run = promisify(execFile);
type Fields = Readonly<Record<string, string>>;
const SEED = 'documents in real life';
/** Two by one inches each. */
const WORDS = ['kestrel', 'marble', 'lantern', 'orchard', 'pebble'];

let service: Pick<Service, 'url'>;
let home: string;
let five: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'filemill-options-'));
  service = await sharedService();
  five = join(home, 'five.pdf');
  await writeFile(
    five,
    pdf(
      WORDS.map((word) => [word]),
      [288, 144],
    ),
  );
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});
const aFolder = () => mkdtemp(join(home, 'a-'));
const to = (file: string, target: string, fields: Fields = {}) => convertTo(service.url, home, file, target, fields);
const codes = (job: { warnings: readonly { code: string }[] }) => job.warnings.map(({ code }) => code).filter((code) => code !== 'lossy');
const textOf = async (path: string) => (await run('pdftotext', [path, '-'])).stdout.split(/\s+/).filter((word) => word !== '');

describe('dpi', () => {
  const wide = { '36': 144, '150': 600, '600': 2400 } as const;
  it.each(['png', 'jpg', 'tiff', 'webp'])('decides on the pixels of a page as %s, 150 by default', async (target) => {
    for (const [dpi, width] of Object.entries(wide)) {
      const found = await sharp((await to(five, target, { pages: '1', dpi })).path).metadata();
      expect([found.width, found.height], dpi).toEqual([width, width / 2]);
    }
    expect((await sharp((await to(five, target, { pages: '1' })).path).metadata()).width).toBe(600);
  });

  it('has no effect on a drawing or a text of a page, and its client is told', async () => {
    for (const target of ['svg', 'html', 'pdf'])
      expect(codes((await to(five, target, { pages: '1', dpi: '300' })).job), target).toContain('option_ignored');
  });
});

describe('edits of a page as a picture', () => {
  it('turn, crop and resize it once', async () => {
    const fields = { pages: '1', dpi: '72', img_rotate: '90', img_crop_w: '100', img_crop_h: '200', img_resize_w: '50' };
    for (const target of ['png', 'jpg']) {
      const { path, job } = await to(five, target, fields);
      const found = await sharp(path).metadata();
      expect([found.width, found.height, codes(job)], target).toEqual([50, 100, []]);
    }
  });
});

describe('img_quality', () => {
  it.each(['jpg', 'pdf'])('decides on the size of a page as %s', async (target) => {
    const folder = await aFolder();
    const noise = join(folder, 'noise.jpg');
    await run('/usr/bin/convert-im6.q16', ['-size', '600x400', '-seed', '7', 'plasma:', '+noise', 'Gaussian', '-quality', '98', noise]);
    const source = (await to(noise, 'pdf', { img_quality: '100' })).path;
    const size = async (fields: Fields) => (await stat((await to(source, target, fields)).path)).size;
    const [low, high] = [await size({ img_quality: '0' }), await size({ img_quality: '100' })];
    expect(low).toBeLessThan(high / 2);
  });
});

describe('pages', () => {
  const CHOSEN: readonly (readonly [pages: string, words: readonly string[], warnings: readonly string[]])[] = [
    ['1', ['kestrel'], []],
    ['2-3,5', ['marble', 'lantern', 'pebble'], []],
    ['5,1', ['pebble', 'kestrel'], []],
    ['2,2,1-2', ['marble', 'kestrel'], []],
    ['all', WORDS, []],
    ['4-2000', ['orchard', 'pebble'], ['pages_beyond_end']],
    ['3,9', ['lantern'], ['pages_beyond_end']],
  ];
  it.each(CHOSEN)('%s of a PDF are those, in that order', async (pages, words, warnings) => {
    for (const target of ['pdf', 'txt']) {
      const { path, job } = await to(five, target, { pages });
      expect(job.output?.files).toBe(1);
      expect(target === 'txt' ? (await readFile(path, 'utf8')).split(/\s+/).filter((word) => word !== '') : await textOf(path)).toEqual(
        words,
      );
      expect(codes(job), target).toEqual(warnings);
    }
  });

  it.each(['png', 'jpg', 'svg', 'webp'])(
    'several make a ZIP of %s, with the numbers of the pages, in the order asked for, and one that file',
    async (target) => {
      const { path, job } = await to(five, target, { pages: '4,1-2', dpi: '36' });
      expect(job.output).toMatchObject({ filename: 'five-filemill.zip', files: 3, content_type: 'application/zip' });
      expect(codes(job)).toContain('zip_of_pages');
      const parts = await unzip(await readFile(path));
      expect([...parts.keys()]).toEqual([4, 1, 2].map((page) => `five-00${page}.${target}`));
      const one = await to(five, target, { pages: '4', dpi: '36' });
      expect(one.job.output).toMatchObject({ filename: `five-filemill.${target}`, files: 1 });
      expect(codes(one.job)).not.toContain('zip_of_pages');
      if (target === 'png') expect(parts.get('five-004.png')?.equals(await readFile(one.path))).toBe(true);
    },
  );

  it('several are pages of one TIFF', async () => {
    const { path, job } = await to(five, 'tiff', { pages: '2-4', dpi: '36' });
    expect([(await sharp(path).metadata()).pages, job.output?.files, codes(job)]).toEqual([3, 1, []]);
  });

  it.each(['pdf', 'png', 'tiff', 'txt', 'html', 'svg'])('that are not there are refused: %s', async (target) => {
    const { status, error } = await convert(service.url, five, target, { pages: '6-7' });
    expect([status, error?.code]).toEqual([400, 'INVALID_OPTION']);
    expect(error?.details).toMatchObject({ option: 'pages', received: '6-7', allowed: 'pages from 1 to 5' });
    expect(error?.message).toBe('The file has 5 pages; the first requested page is 6.');
  });

  it('have no effect on what has none', async () => {
    const { data } = await convert(service.url, { name: 'a.csv', bytes: Buffer.from('a,b\n') }, 'html', { pages: '1' });
    expect(data && codes(data)).toContain('option_ignored');
  });
});

describe('csv_types', () => {
  const NAMES = 'id,number,price,amount,share,day,words';
  const ROW = ['007', '1e5', '"1,234.50"', '42', '0.5', '2024-01-05', 'kestrel'];
  const sheet = (separator: string) => Buffer.from(`${NAMES.replaceAll(',', separator)}\n${ROW.join(separator)}\n`);

  /** The second row of a workbook: a text as such, a number as one. */
  async function cellsOf(xlsx: Buffer): Promise<(string | number)[]> {
    const parts = await unzip(xlsx);
    const texts = [...String(parts.get('xl/sharedStrings.xml')).matchAll(/<si>.*?<t[^>]*>(.*?)<\/t>/gs)].map(([, text]) => text ?? '');
    return [...String(parts.get('xl/worksheets/sheet1.xml')).matchAll(/<c r="[A-Z]+2"([^>]*)><v>(.*?)<\/v>/g)].map(
      ([, attributes = '', value = '']) => (attributes.includes('t="s"') ? (texts[Number(value)] ?? '') : Number(value)),
    );
  }
  const made = async (name: string, bytes: Buffer, fields: Readonly<Record<string, string>>) => {
    const { data } = await convert(service.url, { name, bytes }, 'xlsx', fields);
    const cells = await cellsOf(Buffer.from(await (await fetch(data?.output?.url ?? '')).arrayBuffer()));
    return { cells, codes: data?.warnings.map(({ code }) => code) };
  };

  it.each([
    ['a.csv', ','],
    ['a.csv', ';'],
    ['a.tsv', '\t'],
  ])('values of %s (%j) stay as written: what would look different as a number is text', async (name, separator) => {
    const written = ['007', '1e5', '1,234.50', 42, 0.5, '2024-01-05', 'kestrel'];
    for (const fields of [{}, { csv_types: 'as_written' }] as const)
      expect(await made(name, sheet(separator), fields)).toEqual({ cells: written, codes: ['csv_kept_as_text'] });
  });

  it('are read as numbers and dates on request, with a warning', async () => {
    const { cells, codes } = await made('a.csv', sheet(','), { csv_types: 'auto' });
    expect([cells.slice(0, 5), codes]).toEqual([[7, 100_000, 1234.5, 42, 0.5], ['csv_types_guessed']]);
  });

  it('warn of nothing where every number looks as it was written', async () => {
    expect(await made('a.csv', Buffer.from('a,b\n1,-2.5\n'), {})).toEqual({ cells: [1, -2.5], codes: [] });
  });
});

describe('a sheet', () => {
  const workbook = (cell: string) =>
    Buffer.from(
      `<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body><office:spreadsheet><table:table table:name="one"><table:table-row>${cell}</table:table-row></table:table></office:spreadsheet></office:body></office:document>`,
    );
  const VALUE = '<table:table-cell office:value-type="float" office:value="2"><text:p>2</text:p></table:table-cell>';
  const FORMULA =
    '<table:table-cell table:formula="of:=1+1" office:value-type="float" office:value="2"><text:p>2</text:p></table:table-cell>';

  it.each(['csv', 'html'])('warns of lost formulas where it has some, and only there: %s', async (target) => {
    for (const [cell, warns] of [
      [VALUE, false],
      [VALUE + FORMULA, true],
    ] as const) {
      const { data } = await convert(service.url, { name: 'a.fods', bytes: workbook(cell) }, target);
      expect([data?.status, data?.warnings.some(({ message }) => message.includes('formulas'))]).toEqual(['done', warns]);
    }
    const table = await convert(service.url, { name: 'a.csv', bytes: Buffer.from('a,b\n1,2\n') }, 'html');
    expect(table.data?.warnings).toEqual([]);
  });
});

describe('password', () => {
  const locked = async (user: string, owner = 'owner') => {
    const path = join(await aFolder(), 'locked.pdf');
    await run('qpdf', ['--encrypt', user, owner, '256', '--', five, path]);
    return path;
  };
  const reasonOf = async (file: string, target: string, fields: Fields) =>
    (await convert(service.url, file, target, fields)).error?.details['reason'];

  it.each(['pdf', 'txt', 'png', 'tiff'])('opens a PDF for %s, with its pages chosen, and leaves it open', async (target) => {
    const { path, job } = await to(await locked('tea for two'), target, { password: 'tea for two', pages: '2', dpi: '36' });
    expect(codes(job).filter((code) => code !== 'option_ignored')).toEqual([]);
    if (target === 'pdf') {
      expect(await run('qpdf', ['--is-encrypted', path]).catch(({ code }: { code: number }) => code)).toBe(2);
      expect(await textOf(path)).toEqual(['marble']);
    }
  });

  it('may have spaces at its ends, other letters, and 127 bytes', async () => {
    for (const password of [' spaced ', 'пароль €', 'x'.repeat(127)])
      expect((await to(await locked(password), 'txt', { password })).job.status, password).toBe('done');
  });

  it('that is wrong, missing or another letter’s case does not open it', async () => {
    const file = await locked('Tea');
    for (const target of ['pdf', 'txt', 'png']) {
      expect(await reasonOf(file, target, { password: 'tea' }), target).toBe('wrong_password');
      expect(await reasonOf(file, target, {}), target).toBe('password_required');
    }
  });

  it('of the owner opens it too, and one for changes alone is not needed to read', async () => {
    expect(await textOf((await to(await locked('user', 'boss'), 'pdf', { password: 'boss' })).path)).toEqual(WORDS);
    for (const fields of [{}, { password: 'boss' }] as Fields[])
      expect((await to(await locked('', 'boss'), 'txt', fields)).job.status).toBe('done');
  });

  it('is not in the way of a file that has none', async () => {
    expect(await textOf((await to(five, 'pdf', { password: 'needless' })).path)).toEqual(WORDS);
    expect((await readFile((await to(five, 'txt', { password: 'needless' })).path, 'utf8')).trim()).toContain('kestrel');
  });
});

describe('ocr_lang', () => {
  it('reads a picture as text in English unless told otherwise', async () => {
    const file = await picturedPage(SEED, await aFolder());
    for (const fields of [{}, { ocr_lang: 'deu+eng+fra' }] as Fields[]) await judge((await to(file, 'txt', fields)).path, 'txt', SEED);
  });

  it('makes a picture a PDF that can be searched, which it is not otherwise', async () => {
    const file = await picturedPage(SEED, await aFolder());
    await judge((await to(file, 'pdf', { ocr_lang: 'eng' })).path, 'pdf', SEED);
    expect(await textOf((await to(file, 'pdf')).path)).toEqual([]);
  });

  it('reads the pages of a scanned PDF, and leaves those with text', async () => {
    const file = await scannedPdf(SEED, await aFolder(), [2]);
    await judge((await to(file, 'pdf', { ocr_lang: 'eng' })).path, 'pdf', SEED);
    expect((await textOf((await to(file, 'pdf')).path)).length).toBeLessThan(8);
    const one = await to(file, 'txt', { ocr_lang: 'eng', pages: '3' });
    expect((await readFile(one.path, 'utf8')).split('\f')).toHaveLength(2);
  });

  it('tells scripts apart', async () => {
    const folder = await aFolder();
    const file = join(folder, 'russian.png');
    const text = ['-size', '900x140', 'xc:white', '-font', 'DejaVu-Sans', '-pointsize', '64', '-annotate', '+20+90', 'Привет, Москва'];
    await run('/usr/bin/convert-im6.q16', [...text, file]);
    expect(await readFile((await to(file, 'txt', { ocr_lang: 'rus' })).path, 'utf8')).toContain('Москва');
    expect(await readFile((await to(file, 'txt')).path, 'utf8')).not.toContain('Москва');
  });

  it('has no effect where nothing is read', async () => {
    expect(codes((await to(await picturedPage(SEED, await aFolder()), 'jpg', { ocr_lang: 'deu' })).job)).toEqual(['option_ignored']);
  });
});
