/** OCR with the real programs and models: pages on any side, on dark ground, in two columns, in languages that are not named, and in Chinese. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { metadataOf } from '../../../../src/exec/programs/pdf/ocr/metadata.ts';

const run = promisify(execFile);
const CONVERT = '/usr/bin/convert-im6.q16';
const home = mkdtempSync(join(tmpdir(), 'filemill-ocr-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
let count = 0;

const ENGLISH = [
  'The quick brown fox jumps over the lazy dog, and then',
  'it rests beside the river for the whole afternoon.',
  'Every reader of typewriters has seen this sentence,',
  'which has all letters of the alphabet in few words.',
];
const CJK = '/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc';

/** @param change arguments of ImageMagick */
function page(lines: readonly string[], change: readonly string[] = [], font = 'DejaVu-Sans'): string {
  const path = join(home, `${++count}.png`);
  const text = lines.join('\n');
  execFileSync(CONVERT, [
    '-size',
    `1300x${240 + lines.length * 45}`,
    'xc:white',
    '-font',
    font,
    '-pointsize',
    '36',
    '-annotate',
    '+60+90',
    text,
    ...change,
    path,
  ]);
  return path;
}

interface Read {
  readonly text: string;
  readonly codes: readonly string[];
}

async function read(picture: string, language: string, ...models: readonly string[]): Promise<Read> {
  const folder = mkdtempSync(join(home, 'out-'));
  const folders = models.map((id) => (id.includes('=') ? `--${id}` : `--${id}=${resolve('.cache/models', id)}`));
  const program = resolve('src/exec/programs/pdf/read.ts');
  const args = [`--convert=${CONVERT}`, ...folders, picture, join(folder, 'document'), join(home, `scratch-${count}`), language, 'txt'];
  const { stdout } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args]);
  expect(readdirSync(folder)).toEqual(['document.txt']);
  const { warnings } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { warnings: readonly { code: string; message: string }[] };
  return { text: readFileSync(join(folder, 'document.txt'), 'utf8'), codes: warnings.map(({ code, message }) => `${code} ${message}`) };
}

describe('a page', () => {
  it.each([
    ['as it stands', []],
    ['a quarter turned', ['-rotate', '90']],
    ['upside down', ['-rotate', '180']],
    ['three quarters turned', ['-rotate', '270']],
    ['light on dark', ['-negate']],
    ['light on dark, upside down', ['-negate', '-rotate', '180']],
  ])('is read: %s', async (_, change) => {
    const { text } = await read(page(ENGLISH, change), 'eng', 'page-orientation');
    for (const line of ENGLISH) expect(text).toContain(line);
  });

  it.each([
    ['with the model', ['page-orientation']],
    ['by Tesseract', []],
  ])('of two, both upside down, is read as are those that stand: %s', async (_, models) => {
    const lines = [...ENGLISH, ...ENGLISH.slice(0, 3)];
    const other = [
      ...lines.slice(0, 3),
      'Pages of one file are turned one by one, and each of',
      'them is read on the side on which its letters stand.',
      ...lines.slice(3),
    ];
    const both = join(home, `both-${models.length}.tiff`);
    execFileSync(CONVERT, [
      page(lines, ['-rotate', '180']),
      page(lines),
      page(other, ['-rotate', '180']),
      '-depth',
      '8',
      '-compress',
      'LZW',
      both,
    ]);
    const [first, second, third] = (await read(both, 'eng', ...models)).text.split('\f');
    for (const [text, line] of [
      [first, lines[0]],
      [second, lines[1]],
      [third, other[3]],
    ] as const)
      expect(text).toContain(line);
  });

  it('upside down is read without the model for it, too, by what Tesseract sees', async () => {
    const { text } = await read(page([...ENGLISH, ...ENGLISH.slice(0, 3)], ['-rotate', '180']), 'eng');
    expect(text).toContain(ENGLISH[0]);
  });

  it('in two columns is read column by column', async () => {
    const other = ['A second column begins with these words,', 'which stand beside those of the first one.'];
    const right = Array.from({ length: 6 }, (_, i) => other[i % 2] ?? '');
    const columns = [page([...ENGLISH, ...ENGLISH.slice(0, 2)]), page(right)];
    const both = join(home, 'columns.png');
    execFileSync(CONVERT, [...columns, '+append', both]);
    const { text } = await read(both, 'eng', 'page-orientation');
    expect(text.indexOf('typewriters')).toBeGreaterThan(0);
    expect(text.indexOf('second column')).toBeGreaterThan(text.lastIndexOf('afternoon'));
  });
});

describe('a page whose language is not named', () => {
  it.each([
    ['eng', ENGLISH, 'English (en)'],
    ['deu', ['Die Straße ist nicht weit von dem großen Haus,', 'und der Weg führt mit einem Bogen auf den Hügel.'], 'German (de)'],
    ['fra', ['Le chat est dans la maison avec une souris grise,', 'et les enfants jouent sur la place avec nous.'], 'French (fr)'],
    ['rus', ['Быстрая лиса прыгает через ленивую собаку и бежит', 'по берегу реки, чтобы увидеть большой город.'], 'Russian (ru)'],
  ])('is read as %s', async (_, lines, name) => {
    const { text, codes } = await read(page(lines), 'auto');
    expect(text).toContain(lines[0]);
    expect(codes).toEqual([expect.stringMatching(`^language_detected The language was detected: ${RegExp.escape(name)}, \\d+ % sure\\.$`)]);
  });
});

describe.skipIf(!existsSync(CJK))('a page in Chinese', () => {
  const lines = ['这是一个测试页面，用来检查文字识别。', '快速的棕色狐狸跳过懒狗，然后在河边休息。'];

  it.each([
    ['as it stands', []],
    ['upside down', ['-rotate', '180']],
  ])('is read by PP-OCRv4, %s', async (_, change) => {
    const { text, codes } = await read(page(lines, change, CJK), 'chi_sim', 'page-orientation', 'ppocr-v4');
    expect(text).toBe(`${lines.join('\n')}\n\f`);
    expect(codes).toEqual(['model_used The lines were read by ppocr-v4.']);
  });
});

it('reads by the model that is named, and refuses one that is not installed', async () => {
  const picture = page(['HELLO 2026']);
  expect((await read(picture, 'eng', 'ppocr-v4', 'recogniser=ppocr-v4')).codes).toEqual(['model_used The lines were read by ppocr-v4.']);
  expect((await read(picture, 'eng', 'ppocr-v4', 'recogniser=tesseract')).codes).toEqual([]);
  await expect(read(picture, 'eng', 'recogniser=ppocr-v4')).rejects.toMatchObject({
    code: 2,
    stdout: expect.stringContaining('"reason":"model_not_installed"'),
  });
});

it('a file of ONNX says which signs it knows', () => {
  const signs = metadataOf(readFileSync('.cache/models/ppocr-v4/ch_PP-OCRv4_rec_infer.onnx')).get('character')?.split('\n');
  expect([signs?.length, signs?.[0]]).toEqual([6623, "'"]);
  expect(() => metadataOf(Buffer.from([0xff]))).toThrow(RangeError);
});
