/** What a font is, by its tables: enough to decide which conversions keep it whole. */
import { type Font, tableOf } from './font.ts';

export interface Face {
  /** What its glyphs are drawn by: TrueType's curves, Adobe's (`cff2` only as variable fonts have them), bitmaps alone, or nothing known. */
  readonly outlines: 'glyf' | 'cff' | 'cff2' | 'bitmap' | 'none';
  readonly variable: boolean;
  readonly colour: boolean;
  /** How many; unset where its tables are packed. */
  readonly glyphs?: number;
  /** Metadata of WOFF that only WOFF has a place for. */
  readonly extras?: boolean;
}

export function faceOfTags(tags: readonly string[]): Face {
  const has = (...names: readonly string[]): boolean => names.some((name) => tags.includes(name));
  return { outlines: outlinesOf(has), variable: has('fvar'), colour: has('COLR', 'CBDT', 'sbix', 'SVG ') };
}

export function faceOf(font: Font): Face {
  // A font of bitmaps may have the table of outlines, empty.
  const tags = font.tables.filter(({ data }) => data.length > 0).map(({ tag }) => tag);
  const maxp = tableOf(font, 'maxp');
  return {
    ...faceOfTags(tags),
    ...(maxp !== undefined && maxp.length >= 6 && { glyphs: maxp.readUInt16BE(4) }),
  };
}

function outlinesOf(has: (...names: readonly string[]) => boolean): Face['outlines'] {
  if (has('CFF2')) return 'cff2';
  if (has('CFF ')) return 'cff';
  if (has('glyf')) return 'glyf';
  return has('CBDT', 'sbix', 'EBDT', 'bdat') ? 'bitmap' : 'none';
}
