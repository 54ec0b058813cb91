/** The EXIF fields that describe a picture, and stay true when it is stored again. */
import { fieldsAt, headOf, layout, placeIn, pointer, type ReadAt, type TagField, words } from '../formats/directory.ts';

/** CIPA DC-008, 4.6.3: places of further directories. */
const [EXIF, GPS, INTEROPERABILITY] = [34_665, 34_853, 40_965];
/**
 * Fields of the first directory: title, maker, model, program, date, author, computer, rating, rights, and Windows' words for them. The others describe
 * pixels: size, turn and resolution are the new picture's own.
 */
const SAID = [270, 271, 272, 305, 306, 315, 316, 18_246, 18_249, 33_432, 40_091, 40_092, 40_093, 40_094, 40_095];
/** Width and height. */
const SIZE: ReadonlySet<number> = new Set([40_962, 40_963]);
export const MAKER_NOTE = 37_500;

export interface Exif {
  readonly said: readonly TagField[];
  readonly exif: readonly TagField[];
  readonly gps: readonly TagField[];
  readonly interoperability: readonly TagField[];
}

/** @returns undefined where there are none */
export function readExif(read: ReadAt): Exif | undefined {
  const head = headOf(read);
  if (head === undefined) return undefined;
  const below = (fields: readonly TagField[], tag: number): readonly TagField[] => {
    const field = fields.find((each) => each.tag === tag);
    return field === undefined ? [] : fieldsAt(read, head.order, placeIn(field));
  };
  const first = fieldsAt(read, head.order, head.first, new Set([...SAID, EXIF, GPS]));
  const all = below(first, EXIF);
  const said = first.filter(({ tag }) => SAID.includes(tag));
  const exif = all.filter(({ tag }) => !SIZE.has(tag) && tag !== INTEROPERABILITY);
  const gps = below(first, GPS);
  return said.length + exif.length + gps.length === 0 ? undefined : { said, exif, gps, interoperability: below(all, INTEROPERABILITY) };
}

/** @returns the entries of the first directory, whose values and directories are laid out */
export function layExif({ said, exif, gps, interoperability }: Exif, { entryOf, directory }: ReturnType<typeof layout>): readonly Buffer[] {
  const below = (tag: number, fields: readonly TagField[]): TagField[] =>
    fields.length === 0 ? [] : [pointer(tag, directory(fields.map(entryOf)))];
  return [...said, ...below(EXIF, [...exif, ...below(INTEROPERABILITY, interoperability)]), ...below(GPS, gps)].map(entryOf);
}

/** A block as JPEG, PNG and HEIC have it: a TIFF without pixels. */
export function blockOf(exif: Exif): Buffer {
  const block = layout(8, 'II');
  const place = block.directory(layExif(exif, block));
  return Buffer.concat([Buffer.from('II*\0', 'latin1'), words('II', [], [place]), block.bytes()]);
}
