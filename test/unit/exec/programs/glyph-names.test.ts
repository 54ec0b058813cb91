/** Names for the glyphs of a large font that has none, as FontForge reads them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Font, readFont, tableOf, writeFont } from '../../../../src/exec/programs/fonts/sfnt/font.ts';
import { withNames } from '../../../../src/exec/programs/fonts/sfnt/names.ts';
import { boundWork, segmentsOf } from '../../../../src/exec/programs/fonts/sfnt/work.ts';
import { fixtures } from '../../../kit/fixtures/fonts/fonts.ts';

const GLYPHS = 30_000;
const folder = mkdtempSync(join(tmpdir(), 'glyph-names-'));
afterAll(() => rmSync(folder, { recursive: true }));

const u16 = (...values: readonly number[]): Buffer => Buffer.from(values.flatMap((value) => [value >> 8, value & 255]));
const u32 = (...values: readonly number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]));
const withTables = (font: Font, tables: Readonly<Record<string, Buffer>>): Font => ({
  ...font,
  tables: [...font.tables.filter(({ tag }) => tables[tag] === undefined), ...Object.entries(tables).map(([tag, data]) => ({ tag, data }))],
});
const changed = (font: Font, tag: string, change: (data: Buffer) => void): Buffer => {
  const data = Buffer.from(tableOf(font, tag) ?? []);
  change(data);
  return data;
};

/** Empty glyphs: 1 to 94 are the letters of ASCII from `!`, those behind are Chinese characters, and the last hundred have no code. */
let large: Font;
beforeAll(async () => {
  const path = await (fixtures['ttf'] as (seed: string, folder: string) => Promise<string>)('kestrel', folder);
  const font = readFont(readFileSync(path));
  const groups = [
    [0x21, 0x7e, 1],
    [0x4e00, 0x9dff, 95],
    [0x2_0000, 0x2_0000 + (GLYPHS - 100 - 20_575) - 1, 20_575],
  ] as const;
  large = withTables(font, {
    cmap: Buffer.concat([
      u16(0, 1, 3, 10),
      u32(12),
      u16(12, 0),
      u32(16 + 12 * groups.length, 0, groups.length),
      ...groups.map((group) => u32(...group)),
    ]),
    glyf: Buffer.alloc(4),
    loca: Buffer.alloc(4 * (GLYPHS + 1)),
    head: changed(font, 'head', (data) => data.writeUInt16BE(1, 50)),
    maxp: changed(font, 'maxp', (data) => data.writeUInt16BE(GLYPHS, 4)),
    hhea: changed(font, 'hhea', (data) => data.writeUInt16BE(1, 34)),
    hmtx: Buffer.concat([u16(500, 0), Buffer.alloc(2 * (GLYPHS - 1))]),
    post: Buffer.concat([u32(0x3_0000), Buffer.alloc(28)]),
  });
});

/** As FontForge calls the glyphs at these places: numbers, or codes such as `0u0041`. */
function namesAt(font: Font, places: readonly string[]): readonly string[] {
  const path = join(folder, 'font.ttf');
  writeFileSync(path, writeFont(font));
  const asked = places.map((place) => `Select(${place}); Print(GlyphInfo("Name"));`).join(' ');
  return execFileSync('/usr/bin/fontforge', ['-lang=ff', '-c', `Open($1, 1); ${asked}`, path], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
    .trim()
    .split('\n')
    .slice(-places.length);
}

it('are those of their codes, and numbers where they have none', () => {
  expect(namesAt(withNames(large), ['0u0041', '0u007a', '0u4e00', '0u9dff', '0u20005', '"glyph29950"'])).toEqual([
    'A',
    'z',
    'uni4E00',
    'uni9DFF',
    'u20005',
    'glyph29950',
  ]);
});

it('stay what the font says where it has some, and no two are the same', () => {
  const name = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
  const indices = Buffer.alloc(2 * GLYPHS);
  // U+4E00 is called by itself, U+4E01 by the name that U+4E02 is due, U+4E03 by nothing.
  for (const [glyph, index] of [
    [95, 258],
    [96, 259],
    [98, 260],
  ] as const)
    indices.writeUInt16BE(index, 2 * glyph);
  const post = Buffer.concat([u32(0x2_0000), Buffer.alloc(28), u16(GLYPHS), indices, name('one'), name('uni4E02'), name('')]);
  expect(namesAt(withNames(withTables(large, { post })), ['0u4e00', '0u4e01', '0u4e02', '0u4e03'])).toEqual([
    'one',
    'uni4E02',
    'glyph97',
    'uni4E03',
  ]);
});

it('take no time where a table of codes ends before the first codes of its segments', () => {
  const ends = Buffer.alloc(65_534, 0xff);
  const cmap = Buffer.concat([u16(0, 1, 3, 1), u32(12), u16(4, 0, 0, ends.length, 0, 0, 0), ends]);
  const font = withTables(large, { cmap });
  boundWork(font);
  expect([...segmentsOf(cmap.subarray(12))]).toEqual([]);
  expect(tableOf(withNames(font), 'post')?.length).toBeGreaterThan(2 * GLYPHS);
});

it('are not made where few are missing', () => {
  const named = withNames(large);
  expect(named).not.toBe(large);
  expect(withNames(named)).toBe(named);
});
