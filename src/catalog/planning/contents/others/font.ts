/** What a font has, by its tables (OpenType 1.9), also in WOFF and WOFF2 (W3C). */
import { brotliDecompressSync } from 'node:zlib';
import { latin1, u8, u16be, u32be } from '../../../looks/bytes.ts';
import type { Pieces } from '../../pieces.ts';
import { MOST_MEASURED, Unmeasured, unpacked, wholeOf } from '../bytes.ts';

export interface FontContents {
  readonly glyphs?: number;
  /** `wght 100 to 900`, in order. */
  readonly axes: readonly string[];
  readonly family: string;
  readonly style: string;
  /** Whether it has kerning or ligatures. */
  readonly layout: boolean;
  readonly colours: boolean;
}

type Tables = ReadonlyMap<string, Buffer>;
const MOST_TABLES = 256;

/** @throws Unmeasured */
export function fontFacts(format: string, file: Pieces): FontContents {
  const bytes = wholeOf(file);
  const tables = format === 'woff' ? woff(bytes) : format === 'woff2' ? woff2(bytes) : sfnt(bytes);
  const [glyphs, names] = [tables.get('maxp'), namesIn(tables.get('name'))];
  return {
    ...(glyphs !== undefined && { glyphs: u16be(glyphs, 4) }),
    axes: axesIn(tables.get('fvar')),
    family: names.get(16) ?? names.get(1) ?? '',
    style: names.get(17) ?? names.get(2) ?? '',
    layout: ['GPOS', 'GSUB', 'kern'].some((name) => (tables.get(name)?.length ?? 0) > 0),
    colours: ['COLR', 'SVG ', 'CBDT', 'sbix'].some((name) => tables.has(name)),
  };
}

function sfnt(bytes: Buffer): Tables {
  const count = u16be(bytes, 4);
  if (!(count >= 1 && count <= MOST_TABLES)) throw new Unmeasured('no directory');
  return new Map(
    Array.from({ length: count }, (_, index) => {
      const at = 12 + 16 * index;
      const from = u32be(bytes, at + 8);
      return [latin1(bytes, at, 4), bytes.subarray(from, from + u32be(bytes, at + 12))] as const;
    }),
  );
}

function woff(bytes: Buffer): Tables {
  const count = u16be(bytes, 12);
  if (!(count >= 1 && count <= MOST_TABLES)) throw new Unmeasured('no directory');
  return new Map(
    Array.from({ length: count }, (_, index) => {
      const at = 44 + 20 * index;
      const [from, packed, size] = [u32be(bytes, at + 4), u32be(bytes, at + 8), u32be(bytes, at + 12)];
      const table = bytes.subarray(from, from + packed);
      const name = latin1(bytes, at, 4);
      return [name, packed === size || !READ.has(name) ? table : unpacked(table, 'zlib')] as const;
    }),
  );
}
/** Tables whose content is looked at. */
const READ: ReadonlySet<string> = new Set(['maxp', 'name', 'fvar']);

/** WOFF2, 4.1: the tables with short names, in order; 63 is another. */
const KNOWN = (
  'cmap head hhea hmtx maxp name OS/2 post cvt_ fpgm glyf loca prep CFF_ VORG EBDT EBLC gasp hdmx kern LTSH PCLT VDMX vhea vmtx BASE GDEF GPOS GSUB ' +
  'EBSC JSTF MATH CBDT CBLC COLR CPAL SVG_ sbix acnt avar bdat bloc bsln cvar fdsc feat fmtx fvar gvar hsty just lcar mort morx opbd prop trak Zapf ' +
  'Silf Glat Gloc Feat Sill'
)
  .split(' ')
  .map((name) => name.replace('_', ' '));

function woff2(bytes: Buffer): Tables {
  const count = u16be(bytes, 12);
  if (!(count >= 1 && count <= MOST_TABLES)) throw new Unmeasured('no directory');
  let at = 48;
  const number = (): number => {
    let value = 0;
    for (let digits = 0; digits < 5; digits++) {
      const byte = u8(bytes, at++);
      value = value * 128 + (byte & 127);
      if ((byte & 128) === 0) break;
    }
    return value;
  };
  const places: (readonly [string, number])[] = [];
  for (let index = 0; index < count; index++) {
    const flags = u8(bytes, at++);
    const known = flags & 63;
    const name = KNOWN[known] ?? latin1(bytes, at, 4);
    if (known === 63) at += 4;
    const size = number();
    // 5.1 and 5.3: these two are transformed unless their version is 3, others where it is not 0.
    const version = flags >> 6;
    const isTransformed = name === 'glyf' || name === 'loca' ? version !== 3 : version !== 0;
    places.push([name, isTransformed ? number() : size]);
  }
  // A collection has another directory behind this one.
  if (latin1(bytes, 4, 4) === 'ttcf') throw new Unmeasured('a collection');
  let inner: Buffer;
  try {
    inner = brotliDecompressSync(bytes.subarray(at, at + u32be(bytes, 20)), { maxOutputLength: MOST_MEASURED });
  } catch (cause) {
    throw new Unmeasured('cannot be unpacked', { cause });
  }
  let from = 0;
  return new Map(
    places.map(([name, size]) => {
      from += size;
      return [name, inner.subarray(from - size, from)] as const;
    }),
  );
}

/** Names by what they are, those in English for Windows before others. ("name") */
function namesIn(table: Buffer | undefined): ReadonlyMap<number, string> {
  const names = new Map<number, string>();
  if (table === undefined) return names;
  const [count, texts] = [Math.min(u16be(table, 2), 4_096), u16be(table, 4)];
  for (let index = 0; index < count; index++) {
    const at = 6 + 12 * index;
    const [platform, language, name] = [u16be(table, at), u16be(table, at + 4), u16be(table, at + 6)];
    const bytes = table.subarray(texts + u16be(table, at + 10), texts + u16be(table, at + 10) + u16be(table, at + 8));
    const isWindows = platform === 3 && language === 0x409;
    if (!isWindows && names.has(name)) continue;
    names.set(
      name,
      (platform === 1
        ? bytes.toString('latin1')
        : Buffer.from(bytes.subarray(0, bytes.length & ~1))
            .swap16()
            .toString('utf16le')
      ).slice(0, 200),
    );
  }
  return names;
}

function axesIn(table: Buffer | undefined): readonly string[] {
  if (table === undefined) return [];
  const [from, count, size] = [u16be(table, 4), Math.min(u16be(table, 8), 64), u16be(table, 10)];
  const fixed = (at: number) => (u32be(table, at) | 0) / 65_536;
  return Array.from({ length: count || 0 }, (_, index) => {
    const at = from + size * index;
    return `${latin1(table, at, 4)} ${fixed(at + 4)} to ${fixed(at + 12)}`;
  });
}
