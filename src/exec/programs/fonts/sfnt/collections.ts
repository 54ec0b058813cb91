/** Files with several fonts: OpenType's collections, and the resource forks of the Mac ("dfont"). */
import { Damaged, type Font, MOST_BYTES, part, readFont, tableBytes } from './font.ts';

/** Sarasa Gothic, the largest collection there is, has 120. */
const MOST_FONTS = 256;

/** Fonts of a collection share tables: each gets its own. (OpenType 1.9, "Font Collections") @throws Damaged */
export function readCollection(bytes: Buffer): readonly Font[] {
  const count = part(bytes, 0, 12).readUInt32BE(8);
  if (count === 0 || count > MOST_FONTS) throw new Damaged(`a collection of ${count} fonts`);
  const offsets = part(bytes, 12, 4 * count);
  return bounded(Array.from({ length: count }, (_, index) => readFont(bytes, offsets.readUInt32BE(4 * index))));
}

/** The `sfnt` resources of a resource file (Inside Macintosh: More Macintosh Toolbox, 1-121). @throws Damaged */
export function readDfont(bytes: Buffer): readonly Font[] {
  const [dataAt, mapAt, , mapBytes] = [0, 4, 8, 12].map((at) => part(bytes, at, 4).readUInt32BE(0));
  const map = part(bytes, mapAt ?? 0, mapBytes ?? 0);
  const listAt = part(map, 24, 2).readUInt16BE(0);
  const types = part(map, listAt, 2).readUInt16BE(0) + 1;
  for (let index = 0; index < types; index++) {
    const type = part(map, listAt + 2 + 8 * index, 8);
    if (type.toString('latin1', 0, 4) !== 'sfnt') continue;
    const count = type.readUInt16BE(4) + 1;
    if (count > MOST_FONTS) throw new Damaged(`a resource file of ${count} fonts`);
    const references = part(map, listAt + type.readUInt16BE(6), 12 * count);
    return bounded(
      Array.from({ length: count }, (_, number) => {
        const at = (dataAt ?? 0) + references.readUIntBE(12 * number + 5, 3);
        return readFont(part(bytes, at + 4, part(bytes, at, 4).readUInt32BE(0)));
      }),
    );
  }
  throw new Damaged('a resource file without fonts');
}

function bounded(fonts: readonly Font[]): readonly Font[] {
  if (fonts.reduce((sum, { tables }) => sum + tableBytes(tables), 0) > MOST_BYTES)
    throw new Damaged('its fonts are larger than any real font');
  return fonts;
}
