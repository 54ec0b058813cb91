/** Fonts of documents: one that a document embeds draws its letters, and one that is missing is named with what stood in for it. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { docxLetter, flatLetter } from '../../kit/fixtures/documents/letters.ts';
import { fixtures, typefaceOf } from '../../kit/fixtures/fonts/fonts.ts';
import { decode } from '../../kit/judges/pictures/pixels.ts';
import { convert, type Service, settled } from '../../kit/roles/service.ts';
import { sharedService } from '../../kit/roles/shared-service.ts';

let service: Pick<Service, 'url'>;
let folder: string;
beforeAll(async () => {
  service = await sharedService();
  folder = await mkdtemp(join(tmpdir(), 'filemill-document-fonts-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Converts it; where the target is a PDF, `fonts` are those in it. */
async function send(name: string, content: Buffer | string, target = 'pdf', fields: Readonly<Record<string, string>> = {}) {
  const answer = await settled(service.url, await convert(service.url, { name, bytes: Buffer.from(content) }, target, fields));
  expect(answer.error, name).toBeUndefined();
  const path = join(folder, `result.${target}`);
  await writeFile(path, Buffer.from(await (await fetch(answer.data?.output?.url ?? '')).arrayBuffer()));
  const warning = answer.data?.warnings.find(({ code }) => code === 'font_substituted')?.message;
  const list = target === 'pdf' ? execFileSync('/usr/bin/pdffonts', [path]).toString().split('\n').slice(2) : [];
  return { path, warning, fonts: list.flatMap((line) => /^\w{6}\+(\S+)/.exec(line)?.[1] ?? []) };
}
const docx = async (...letter: [Parameters<typeof docxLetter>[1], Parameters<typeof docxLetter>[2]?]) =>
  readFile(await docxLetter(join(folder, 'letter.docx'), ...letter));
const TEXT = 'Kestrel over water';

describe('a font that is missing', () => {
  it('is named with its stand-in', async () => {
    const { warning, fonts } = await send('a.docx', await docx({ 'Segoe UI': TEXT, Garamond: TEXT, Aptos: TEXT, 宋体: TEXT }));
    const said = /: (.+)\.$/.exec(warning ?? '')?.[1]?.split('; ') ?? [];
    expect(said.toSorted()).toEqual(['"Garamond" by Noto Serif', '"Segoe UI", "Aptos" by Noto Sans', '"宋体" by Noto Serif CJK SC']);
    expect(fonts.toSorted()).toEqual(['NotoSans-Regular', 'NotoSerif-Regular', expect.stringMatching(/^NotoSerifCJK/)]);
  });

  it('is not named where its stand-in has letters of the same widths, or where no text uses it', async () => {
    const twins = { Arial: TEXT, 'Times New Roman': TEXT, 'Courier New': TEXT, Calibri: TEXT, Cambria: TEXT, 'DejaVu Sans': TEXT };
    const { warning, fonts } = await send('a.docx', await docx(twins, { named: ['Papyrus', 'SimSun'] }));
    expect(warning).toBeUndefined();
    expect(fonts.toSorted()).toEqual(['Caladea-Regular', 'Carlito', 'DejaVuSans', 'LiberationMono', 'LiberationSans', 'LiberationSerif']);
  });

  it('is not said of letters that a font has none of, in a document whose font is there', async () => {
    const { warning } = await send('a.fodt', flatLetter({ 'DejaVu Sans': '漢字', Arial: '漢字' }));
    expect(warning).toBeUndefined();
  });

  it('is named in a sheet and on slides, and not where a document keeps its names of fonts', async () => {
    const sheet = (await send('a.csv', `a,b\n${TEXT},1\n`, 'ods')).path;
    expect((await send('a.ods', await readFile(sheet))).warning).toBeUndefined();
    const fods = (await readFile((await send('a.csv', `a,b\n${TEXT},1\n`, 'fods')).path, 'utf8')).replaceAll('Liberation Sans', 'Papyrus');
    expect((await send('a.fods', fods)).warning).toContain('"Papyrus" by ');
    const papyrus = await docx({ Papyrus: TEXT });
    expect((await send('a.docx', papyrus)).warning).toContain('"Papyrus" by ');
    expect((await send('a.docx', papyrus, 'odt')).warning).toBeUndefined();
  });

  it('is named ten at most and the others counted, without what a name must not hold', async () => {
    const names = Array.from({ length: 12 }, (_, at) => [`Font ${at} &#x202e;&#9;${'x'.repeat(100)}`, TEXT]);
    const { warning = '' } = await send('a.fodt', flatLetter(Object.fromEntries(names)));
    expect(warning).toMatch(/(?:"Font \d+ x{22,23}"(?:, | by )){10}Noto Sans; and 2 more\.$/);
    expect(warning).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe('what stands in', () => {
  it.each([
    ['Rockwell', TEXT, 'NotoSerif-Regular'],
    ['Menlo', TEXT, 'DejaVuSansMono'],
    ['Impact', TEXT, 'NotoSans-Regular'],
    ['Comic Sans MS', TEXT, 'NotoSans-Regular'],
    ['Verdana', TEXT, 'DejaVuSans'],
    ['Calibri Light', TEXT, 'Carlito'],
    ['ＭＳ 明朝', '直線', 'NotoSerifCJK'],
    ['MS Gothic', '直線', 'NotoSans'],
    ['SimSun', '直线', 'NotoSerifCJK'],
    ['바탕', '한국어', 'NotoSerifCJK'],
    ['Malgun Gothic', '한국어', 'NotoSansCJK'],
  ])('for %s has its kind of letters', async (font, text, standIn) => {
    const { fonts } = await send('a.fodt', flatLetter({ [font]: text }));
    expect(fonts).toEqual([expect.stringMatching(`^${standIn}`)]);
  });
});

describe('a font that a document embeds', () => {
  const SEED = 'a font of a document';
  const { family, letters } = typefaceOf(SEED);
  /** The fixture forbids that it is embedded, which LibreOffice obeys. */
  const embeddable = async (): Promise<Buffer> => {
    const allow = 'import sys; from fontTools.ttLib import TTFont; f = TTFont(sys.argv[1]); f["OS/2"].fsType = 0; f.save(sys.argv[1])';
    const path = (await fixtures['ttf']?.(SEED, folder)) ?? '';
    execFileSync('/usr/bin/python3', ['-c', allow, path]);
    return readFile(path);
  };

  it.each([
    ['a DOCX', 'a.docx', async (embedded: Buffer) => docx({ [family]: 'K' }, { embedded, size: 200 })],
    ['an OpenDocument', 'a.fodt', async (embedded: Buffer) => flatLetter({ [family]: 'K' }, embedded, 200)],
  ])('draws its letters, in %s', async (_, name, make) => {
    const { path, warning, fonts } = await send(name, await make(await embeddable()));
    expect(warning).toBeUndefined();
    expect(fonts).toEqual([family.replace(' ', '')]);
    expect(await squaresOf(path)).toEqual(trimmed(letters['K']?.cells ?? []));
  });

  it('is missing in the next document, which does not embed it', async () => {
    expect((await send('a.docx', await docx({ [family]: 'K' }, { embedded: await embeddable() }))).warning).toBeUndefined();
    expect((await send('a.docx', await docx({ [family]: 'K' }))).warning).toContain(`"${family}" by `);
  });
});

/** The letter's rows of squares from the top, as 0 and 1, without empty rows and columns at its sides. */
function trimmed(cells: readonly number[]): string[] {
  const rows = [3, 2, 1, 0].map((row) => cells.slice(4 * row, 4 * row + 4));
  const filled = [0, 1, 2, 3].filter((column) => rows.some((row) => row[column] === 1));
  const [left = 0, right = 0] = [filled[0], filled.at(-1)];
  const lines = rows.map((row) => row.slice(left, right + 1).join(''));
  const inked = lines.flatMap((line, at) => (line.includes('1') ? [at] : []));
  return lines.slice(inked[0], (inked.at(-1) ?? 0) + 1);
}

/** The same of the only letter on a page, whose squares are 40 pt wide. */
async function squaresOf(pdf: string): Promise<string[]> {
  const [page] = await decode(pdf, 'pdf');
  if (page === undefined) throw new Error('no page');
  const isDark = (x: number, y: number) => (page.pixels[4 * (y * page.width + x)] ?? 255) < 128;
  const range = (length: number) => Array.from({ length }, (_, at) => at);
  const rows = range(page.height).filter((y) => range(page.width).some((x) => isDark(x, y)));
  const columns = range(page.width).filter((x) => rows.some((y) => isDark(x, y)));
  const [top = 0, bottom = 0, left = 0, right = 0] = [rows[0], rows.at(-1), columns[0], columns.at(-1)];
  const square = (40 * page.width) / 595;
  const across = Math.round((right - left + 1) / square);
  const down = Math.round((bottom - top + 1) / square);
  return range(down).map((row) =>
    range(across)
      .map((column) => Number(isDark(Math.round(left + (column + 0.5) * square), Math.round(top + (row + 0.5) * square))))
      .join(''),
  );
}

it('shows emoji, whatever the colours of their font', async () => {
  const { path } = await send('a.docx', await docx({ Carlito: '😀🚀❤' }));
  // A page in shades of grey: `P5`, width, height and the lightest value, then a byte for each pixel.
  const page = execFileSync('/usr/bin/pdftoppm', ['-gray', '-r', '100', '-singlefile', path], { maxBuffer: 1 << 26 });
  const pixels = page.subarray(page.indexOf('255\n') + 4);
  expect(pixels.reduce((sum, pixel) => sum + (pixel < 200 ? 1 : 0), 0)).toBeGreaterThan(50);
});
