/** Fonts whose first bytes are too short to be sure: what follows must be a directory of tables, or a header that fits the file. */
import { has, latin1, u8, u16be, u32be } from './bytes.ts';
import type { Sample } from './sample.ts';

/** Names of tables that decide what a font is. A directory has few; of a forged one no more is read. */
const MOST_TABLES = 256;

/** @returns the names of the tables that are not empty; undefined if it is no directory (OpenType 1.9, "Table Directory") */
function tablesOf({ head, size }: Sample): ReadonlySet<string> | undefined {
  const count = u16be(head, 4);
  // Databases of Access begin with the same bytes, and texts with the same letters: in their place both have a larger number.
  if (!(count >= 1 && count <= MOST_TABLES && 12 + 16 * count <= size)) return undefined;
  const names = new Set<string>();
  for (let index = 0; index < count; index++) {
    const name = latin1(head, 12 + 16 * index, 4);
    if (!/^[\x20-\x7e]{4}$/.test(name)) return index === 0 || names.size === 0 ? undefined : names;
    if (u32be(head, 12 + 16 * index + 12) > 0) names.add(name);
  }
  return names;
}

const isSfnt = ({ head }: Sample): boolean => has(head, 0, '\0\x01\0\0') || has(head, 0, 'true');

/** X's and Pango's bitmap fonts: no outlines, though there may be an empty table for them. */
export function isBitmapFont(sample: Sample): boolean {
  const tables = isSfnt(sample) ? tablesOf(sample) : undefined;
  return tables !== undefined && (tables.has('EBDT') || tables.has('bdat')) && (tables.has('BDF ') || !tables.has('glyf'));
}

export const isTrueType = (sample: Sample): boolean => isSfnt(sample) && tablesOf(sample) !== undefined;
export const isCffFont = (sample: Sample): boolean => has(sample.head, 0, 'OTTO') && tablesOf(sample) !== undefined;

/** Adobe TN 5176, 6: version 1, the header's own length, and the size of offsets; then the index of names, which has one. */
export const isBareCff = ({ head }: Sample): boolean =>
  has(head, 0, '\x01\0\x04') && u8(head, 3) >= 1 && u8(head, 3) <= 4 && u16be(head, 4) === 1 && u8(head, 6) >= 1 && u8(head, 6) <= 4;

/** A resource file with fonts in it: two parts that follow each other, and `sfnt` among the types that the second lists. */
export function isDfont({ head, tail, size }: Sample): boolean {
  const [data, map, dataBytes, mapBytes] = [0, 4, 8, 12].map((at) => u32be(head, at)) as [number, number, number, number];
  if (!(data >= 16 && data <= 256 && map === data + dataBytes && mapBytes >= 30 && map + mapBytes <= size)) return false;
  const start = map + mapBytes <= head.length ? map : map - (size - tail.length);
  const bytes = map + mapBytes <= head.length ? head : tail;
  const list = start + u16be(bytes, start + 24);
  const types = Math.min(u16be(bytes, list) + 1, MOST_TABLES);
  for (let index = 0; index < types; index++) if (has(bytes, list + 2 + 8 * index, 'sfnt')) return true;
  return false;
}

const DRAWING = /<(?:g|path|rect|circle|ellipse|line|polyline|polygon|image|text|use|foreignObject|symbol)[\s/>]/;

/** An SVG that defines a font and draws nothing. A picture may also define fonts. @param end the last part of the file */
export function isSvgFont(start: string, end: string): boolean {
  const from = start.search(/<font[\s>]/);
  if (from < 0 || DRAWING.test(start.slice(0, from))) return false;
  const last = end.lastIndexOf('</font>');
  return last >= 0 && !DRAWING.test(end.slice(last));
}
