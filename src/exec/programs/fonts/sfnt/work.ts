/** Bounds on what a few bytes of a font can stand for: ranges of codes, and glyphs that are made of glyphs. FontForge expands all of it. */
import { beyond } from '../../data/values/value.ts';
import { Damaged, type Font, tableOf } from './font.ts';

/** Codes in all ranges of all encodings, which may share their bytes, an empty range for one: a font for all of Unicode has 1.1 million, and most have less than 200,000. */
const MOST_CODES = 2_500_000;
/**
 * The sum over glyphs of the square of how many codes each has: FontForge goes through all of them for each. 65,536 codes of one take it three seconds; a
 * glyph has one or two.
 */
const MOST_TWINS = 65_536 ** 2;
const GLYPHS = 65_536;
/** Points of all glyphs, those of their parts counted in each: the largest fonts have 6 million. */
const MOST_POINTS = 10_000_000;
/** Glyphs within one another: letters with accents have two or three. */
const MOST_LEVELS = 64;

/** @throws FileRefused `input_limit` @throws Damaged for a glyph that is a part of itself */
export function boundWork(font: Font): void {
  boundCodes(tableOf(font, 'cmap') ?? Buffer.alloc(0));
  boundGlyphs(font);
}

/** Letters of a font of bitmaps: no font file has room for more, and FontForge looks through all for each. */
const MOST_LETTERS = 65_535;
const LETTER = Buffer.from('STARTCHAR ');

/** @param bytes a font in BDF @throws FileRefused `input_limit` */
export function boundLetters(bytes: Buffer): void {
  let count = 0;
  for (let at = bytes.indexOf(LETTER); at >= 0; at = bytes.indexOf(LETTER, at + LETTER.length)) count++;
  if (count > MOST_LETTERS) throw beyond('glyphs', MOST_LETTERS, count);
}

/** OpenType 1.9, "cmap". */
function boundCodes(cmap: Buffer): void {
  const count = cmap.length < 4 ? 0 : Math.min(cmap.readUInt16BE(2), Math.floor((cmap.length - 4) / 8));
  let codes = 0;
  /** By glyph: how many codes more it has than the one before. */
  const steps = new Float64Array(GLYPHS + 1);
  for (let record = 0; record < count; record++)
    for (const { length, glyph, isOne } of rangesOf(cmap.subarray(cmap.readUInt32BE(8 + 8 * record)))) {
      codes += Math.max(1, length);
      if (codes > MOST_CODES) throw beyond('character codes', MOST_CODES, codes);
      if (glyph === undefined || length < 1) continue;
      const [from, to] = [Math.min(glyph, GLYPHS), Math.min(isOne ? glyph + 1 : glyph + length, GLYPHS)];
      const each = isOne ? length : 1;
      steps[from] = (steps[from] ?? 0) + each;
      steps[to] = (steps[to] ?? 0) - each;
    }
  let [twins, ofGlyph] = [0, 0];
  for (let glyph = 0; glyph < GLYPHS; glyph++) {
    ofGlyph += steps[glyph] ?? 0;
    twins += ofGlyph ** 2;
  }
  if (twins > MOST_TWINS) throw beyond('character codes of one glyph', Math.sqrt(MOST_TWINS), Math.round(Math.sqrt(twins)));
}

interface CodeRange {
  readonly length: number;
  /** That its first code has; undefined where there may be no more than 65,536 in all. */
  readonly glyph?: number;
  /** All codes have that glyph; else each has the next one. */
  readonly isOne?: boolean;
}

/** The ranges of an encoding. */
function* rangesOf(table: Buffer): Generator<CodeRange> {
  const u16 = (at: number): number => (at + 2 <= table.length ? table.readUInt16BE(at) : 0);
  const u32 = (at: number): number => (at + 4 <= table.length ? table.readUInt32BE(at) : 0);
  const format = u16(0);
  if (format === 2) for (let first = 0; first < 256; first++) yield { length: u16(6 + 512 + u16(6 + 2 * first) + 2) };
  else if (format === 4) {
    for (const { first, last } of segmentsOf(table)) yield { length: last - first + 1 };
  } else if (format === 8 || format === 12 || format === 13) {
    const groups = format === 8 ? 12 + 8192 : 12;
    for (let group = 0, at = groups + 4; group < u32(groups) && at < table.length; group++, at += 12)
      yield { length: u32(at + 4) - u32(at) + 1, glyph: u32(at + 8), isOne: format === 13 };
  }
}

export interface Segment {
  readonly first: number;
  readonly last: number;
  readonly delta: number;
  /** Place of its offset in the table. */
  readonly offsetAt: number;
}

/** In format 4: those whose first code is not in the table are none, so that their number is bounded by its size. */
export function* segmentsOf(table: Buffer): Generator<Segment> {
  const u16 = (at: number): number => (at + 2 <= table.length ? table.readUInt16BE(at) : 0);
  const bytes = u16(6) & ~1;
  for (let at = 0; at < bytes && 16 + bytes + at < table.length; at += 2)
    yield { first: u16(16 + bytes + at), last: u16(14 + at), delta: u16(16 + 2 * bytes + at), offsetAt: 16 + 3 * bytes + at };
}

interface Size {
  readonly points: number;
  readonly levels: number;
}

/** OpenType 1.9, "glyf" and "loca". */
function boundGlyphs(font: Font): void {
  const [glyf, loca, head, maxp] = ['glyf', 'loca', 'head', 'maxp'].map((tag) => tableOf(font, tag));
  if (glyf === undefined || loca === undefined || head === undefined || maxp === undefined) return;
  if (head.length < 52 || maxp.length < 6) return;
  const isLong = head.readUInt16BE(50) !== 0;
  const placeOf = (glyph: number): number => {
    const at = glyph * (isLong ? 4 : 2);
    if (at + (isLong ? 4 : 2) > loca.length) return glyf.length;
    return isLong ? loca.readUInt32BE(at) : 2 * loca.readUInt16BE(at);
  };
  const known = new Map<number, Size>();
  const open = new Set<number>();
  let read = 0;
  const measure = (glyph: number): Size => {
    const before = known.get(glyph);
    if (before !== undefined) return before;
    if (open.has(glyph)) throw new Damaged('a glyph is a part of itself');
    open.add(glyph);
    if (open.size > MOST_LEVELS) throw beyond('glyphs within one another', MOST_LEVELS);
    const bytes = glyf.subarray(placeOf(glyph), Math.max(placeOf(glyph), placeOf(glyph + 1)));
    let size: Size = { points: pointsOf(bytes), levels: 1 };
    for (const part of partsOf(bytes)) {
      // Glyphs may share their bytes.
      if (++read > MOST_POINTS) throw beyond('parts of glyphs', MOST_POINTS);
      const { points, levels } = measure(part);
      size = { points: Math.min(size.points + points + 1, Number.MAX_SAFE_INTEGER), levels: Math.max(size.levels, levels + 1) };
    }
    if (size.levels > MOST_LEVELS) throw beyond('glyphs within one another', MOST_LEVELS, size.levels);
    open.delete(glyph);
    known.set(glyph, size);
    return size;
  };
  let points = 0;
  for (let glyph = 0; glyph < maxp.readUInt16BE(4); glyph++) {
    points += measure(glyph).points;
    if (points > MOST_POINTS) throw beyond('points of all glyphs', MOST_POINTS, points);
  }
}

/** The last point of the last contour, and those before it. */
function pointsOf(bytes: Buffer): number {
  const contours = bytes.length < 12 ? 0 : bytes.readInt16BE(0);
  const last = 8 + 2 * contours;
  return contours > 0 && last + 2 <= bytes.length ? bytes.readUInt16BE(last) + 1 : 0;
}

const [WORDS, SCALE, MORE, TWO_SCALES, FOUR_SCALES] = [0x1, 0x8, 0x20, 0x40, 0x80];

function* partsOf(bytes: Buffer): Generator<number> {
  if (bytes.length < 12 || bytes.readInt16BE(0) >= 0) return;
  let flags = MORE;
  for (let at = 10; (flags & MORE) !== 0 && at + 4 <= bytes.length; ) {
    flags = bytes.readUInt16BE(at);
    yield bytes.readUInt16BE(at + 2);
    at += 4 + (flags & WORDS ? 4 : 2) + (flags & SCALE ? 2 : flags & TWO_SCALES ? 4 : flags & FOUR_SCALES ? 8 : 0);
  }
}
