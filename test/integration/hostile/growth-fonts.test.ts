/** Programs that read fonts, ours and others', each with what could be its worst case: eight times the size takes eight times the time. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFont, type Table, writeFont } from '../../../src/exec/programs/fonts/sfnt/font.ts';
import { fixtures } from '../../kit/fixtures/fonts/fonts.ts';
import { proveLinear, type Reader, times } from './growth.ts';

const folder = mkdtempSync(join(tmpdir(), 'growth-fonts-'));
const TTF = readFileSync(await (fixtures['ttf'] as (seed: string, folder: string) => Promise<string>)('kestrel', folder));
rmSync(folder, { recursive: true, force: true });

const u16 = (...values: readonly number[]): Buffer => Buffer.from(values.flatMap((value) => [(value >> 8) & 255, value & 255]));
const u32 = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * at);
  return bytes;
};
const joined = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts);
const many = (count: number, part: (at: number) => Buffer): Buffer => Buffer.concat(Array.from({ length: count }, (_, at) => part(at)));

/** The font with other tables. */
const withTables = (...tables: readonly Table[]): Buffer => {
  const { version, tables: own } = readFont(TTF);
  return writeFont({ version, tables: [...own.filter(({ tag }) => !tables.some((table) => table.tag === tag)), ...tables] });
};
const table = (tag: string, ...parts: readonly Uint8Array[]): Table => ({ tag, data: joined(...parts) });

/** Encodings that share one list of groups. */
const encodings = (records: number, groups: number, group: (at: number) => Buffer): Table =>
  table(
    'cmap',
    u16(0, records),
    many(records, () => joined(u16(3, 10), u32(4 + 8 * records))),
    u16(12, 0),
    u32(16 + 12 * groups, 0, groups),
    many(groups, group),
  );
/** Glyphs of so many points each, zigzags of straight lines. */
function glyphs(count: number, points: number): readonly Table[] {
  const one = joined(
    u16(1, 0, 0, 1000, 1000, points - 1, 0),
    Buffer.alloc(points, 1),
    many(points, (at) => u16(at % 2 === 0 ? 7 : -7 & 0xffff)),
    many(points, (at) => u16((at * 7919) % 2 === 0 ? 3 : 11)),
  );
  const padded = joined(one, Buffer.alloc((4 - (one.length % 4)) % 4));
  const head = Buffer.from(readFont(TTF).tables.find(({ tag }) => tag === 'head')?.data ?? []);
  head.writeUInt16BE(1, 50);
  const maxp = Buffer.from(readFont(TTF).tables.find(({ tag }) => tag === 'maxp')?.data ?? []);
  maxp.writeUInt16BE(count, 4);
  const hhea = Buffer.from(readFont(TTF).tables.find(({ tag }) => tag === 'hhea')?.data ?? []);
  hhea.writeUInt16BE(1, 34);
  return [
    table('glyf', ...Array.from({ length: count }, () => padded)),
    table('loca', u32(...Array.from({ length: count + 1 }, (_, at) => at * padded.length))),
    table('head', head),
    table('maxp', maxp),
    table('hhea', hhea),
    table('hmtx', u16(500, 0), Buffer.alloc(2 * (count - 1))),
  ];
}
const checked: Reader['args'] = (input, output) => ['prepare', input, 'sfnt', `${output}.sfnt`];
const sfnt = (args: Reader['args'], file: Reader['file'], count: number): Reader => ({ program: 'fonts/sfnt.ts', args, file, count });
const OPEN = 'Open($1, 1); Generate($2)';
const drawn = (file: Reader['file'], count: number, from: string, to = '.otf'): Reader => ({
  program: '/usr/bin/fontforge',
  args: (input, output) => ['-lang=ff', '-c', OPEN, input, `${output}${to}`],
  file,
  count,
  extension: from,
});
const SFNT = join(import.meta.dirname, '../../../src/exec/programs/fonts/sfnt.ts');
/** As in a conversion: FontForge reads what our program made of it. */
const prepared = (file: Reader['file'], count: number): Reader => ({
  program: '/bin/bash',
  args: (input, output) => [
    '-c',
    '"$0" "$1" prepare "$2" sfnt "$3.sfnt" && /usr/bin/fontforge -lang=ff -c "$4" "$3.sfnt" "$3.otf"',
    process.execPath,
    SFNT,
    input,
    output,
    OPEN,
  ],
  file,
  count,
});
const svgFont = (count: number, outline: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg"><defs><font horiz-adv-x="500"><font-face font-family="a" units-per-em="1000" ascent="800" descent="-200"/>${times(
    count,
    (at) => `<glyph unicode="&#${0x4e00 + at};" horiz-adv-x="500" d="${outline}"/>`,
  )}</font></defs></svg>`;
const bdf = (count: number): string =>
  `STARTFONT 2.1\nFONT -a-b-medium-r-normal--8-80-75-75-c-80-iso10646-1\nSIZE 8 75 75\nFONTBOUNDINGBOX 8 8 0 0\nSTARTPROPERTIES 2\nFONT_ASCENT 8\nFONT_DESCENT 0\nENDPROPERTIES\nCHARS ${count}\n${times(
    count,
    (at) => `STARTCHAR u${at}\nENCODING ${0x4e00 + at}\nSWIDTH 500 0\nDWIDTH 8 0\nBBX 8 2 0 0\nBITMAP\nFF\n81\nENDCHAR\n`,
  )}ENDFONT\n`;

proveLinear({
  'groups that overlap': sfnt(checked, (count) => withTables(encodings(1, count, () => u32(0, 2, 0))), 50_000),
  'groups that are empty, of many encodings': sfnt(checked, (count) => withTables(encodings(count, count, () => u32(5, 4, 0))), 1_000),
  'tables of a font': sfnt(
    (input) => ['look', input, 'ttf'],
    (count) =>
      joined(
        u32(0x1_0000),
        u16(count, 0, 0, 0),
        many(count, (at) => joined(u32(0x4141_4141 + at, 0, 12, 0))),
      ),
    8_000,
  ),
  'fonts of a collection that share a list of tables': sfnt(
    (input) => ['look', input, 'ttc'],
    (count) =>
      joined(
        u32(0x7474_6366, 0x1_0000, 32 * count, ...Array.from({ length: 32 * count }, () => 12 + 4 * 32 * count), 0x1_0000),
        u16(1000, 0, 0, 0),
        many(1000, (at) => u32(0x4141_4141 + at, 0, 12, 0)),
      ),
    1,
  ),
  'tables of a web font': sfnt(
    (input) => ['look', input, 'woff'],
    (count) =>
      joined(
        u32(0x774f_4646, 0x1_0000, 0),
        u16(count, 0),
        Buffer.alloc(28),
        many(count, (at) => u32(0x4141_4141 + at, 44, 0, 0, 0)),
      ),
    8_000,
  ),
  'glyphs made of glyphs': sfnt(checked, (count) => withTables(...glyphs(count, 4)), 2_000),
  'names of a font': sfnt(
    (input, output) => ['pack', input, 'eot', output],
    (count) =>
      withTables(
        table(
          'name',
          u16(0, count, 6 + 12 * count),
          many(count, () => u16(3, 1, 0x407, 1, 20_000, 0)),
          Buffer.alloc(20_000),
        ),
      ),
    1_000,
  ),
  'FontForge: glyphs': drawn((count) => withTables(...glyphs(count, 20)), 2_000, '.ttf'),
  'FontForge: glyphs with codes and without names': prepared(
    (count) =>
      withTables(
        encodings(1, 1, () => u32(0x1_0000, 0x1_0000 + count - 2, 1)),
        ...glyphs(count, 4),
        table('post', u32(0x3_0000), Buffer.alloc(28)),
      ),
    7_500,
  ),
  'FontForge: glyphs with codes, of which all but one are called .notdef': prepared(
    (count) =>
      withTables(
        encodings(1, 1, () => u32(0x1_0000, 0x1_0000 + count - 2, 1)),
        ...glyphs(count, 4),
        table('post', u32(0x2_0000), Buffer.alloc(28), u16(count), Buffer.alloc(2 * count)),
      ),
    7_500,
  ),
  'FontForge: points of one glyph': drawn((count) => withTables(...glyphs(30, count)), 4_000, '.ttf'),
  'FontForge: codes': drawn(
    (count) =>
      withTables(
        encodings(1, 1, () => u32(0x4e00, 0x4e00 + count, 1)),
        ...glyphs(8_000, 4),
      ),
    1_000,
    '.ttf',
  ),
  'codes of one glyph': sfnt(checked, (count) => withTables(encodings(1, count, (at) => u32(at, at, 1))), 50_000),
  'FontForge: glyphs of an SVG font': drawn((count) => svgFont(count, 'M0 0L500 0L250 500z'), 2_000, '.svg'),
  'FontForge: one outline of an SVG font': drawn(
    (count) => svgFont(1, `M0 0${times(count, (at) => `L${(at * 7919) % 1000} ${(at * 104_729) % 1000}`)}z`),
    1_000,
    '.svg',
  ),
  // More than 65,535 are refused.
  'FontForge: letters of bitmaps': drawn((count) => bdf(count), 1_000, '.bdf', '.'),
  'letters of bitmaps': sfnt(
    (input) => ['prepare', input, 'bdf', ''],
    (count) => bdf(count),
    20_000,
  ),
  'woff2_compress: points': {
    program: '/usr/bin/woff2_compress',
    args: (input) => [input],
    file: (count) => withTables(...glyphs(count, 100)),
    count: 200,
    extension: '.ttf',
  },
});
