/** The first directory of a TIFF or BigTIFF, and how many more there are (TIFF 6.0, section 8). */
import { directoryNumbers } from '../../looks/bytes.ts';
import { countPictures } from '../pictures/frames.ts';
import type { Pieces } from '../pieces.ts';
import { asShown, BARE, type PictureHeader } from './picture.ts';

const MOST_ENTRIES = 500;
const TAG = {
  width: 256,
  height: 257,
  bits: 258,
  photometric: 262,
  orientation: 274,
  samples: 277,
  density: 282,
  unit: 296,
  extra: 338,
  xmp: 700,
  iptc: 33_723,
  profile: 34_675,
  exif: 34_665,
} as const;
/** Bytes of each type of values, by its number. */
const SIZES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8];

export function tiffHeader(file: Pieces): PictureHeader | undefined {
  const head = Buffer.from(file.read(0, 16));
  const { short, long, longer } = directoryNumbers(head);
  const big = short(head, 2) === 43;
  const [countBytes, entryBytes, inline] = big ? [8, 20, 8] : [2, 12, 4];
  const first = big ? longer(head, 8) : long(head, 4);
  const values = new Map<number, number>();
  const count = Math.min(big ? longer(file.read(first, 8)) : short(file.read(first, 2)), MOST_ENTRIES);
  for (let index = 0; index < count; index++) {
    const entry = Buffer.from(file.read(first + countBytes + index * entryBytes, entryBytes));
    if (entry.length < entryBytes) break;
    const [tag, type] = [short(entry, 0), short(entry, 2)];
    const bytes = (SIZES[type] ?? 0) * (big ? longer(entry, 4) : long(entry, 4));
    const place = entryBytes - inline;
    const at = bytes <= inline ? undefined : big ? longer(entry, place) : long(entry, place);
    const value = at === undefined ? entry.subarray(place) : Buffer.from(file.read(at, 8));
    values.set(tag, type === 3 ? short(value) : type === 5 ? long(value) / Math.max(1, long(value, 4)) : long(value));
  }
  const [width, height] = [values.get(TAG.width) ?? 0, values.get(TAG.height) ?? 0];
  if (!(width > 0 && height > 0)) return undefined;
  const photometric = values.get(TAG.photometric) ?? 1;
  const unit = values.get(TAG.unit) ?? 2;
  const density = values.get(TAG.density);
  const stated = density === undefined || density <= 1 || unit === 1 ? undefined : Math.round(unit === 3 ? density * 2.54 : density);
  return {
    ...BARE,
    ...asShown(width, height, values.get(TAG.orientation) ?? 1),
    depth: photometric === 3 ? 8 : (values.get(TAG.bits) ?? 1),
    colours: photometric <= 1 ? 'grey' : photometric === 3 ? 'palette' : photometric === 5 ? 'cmyk' : 'rgb',
    alpha: [1, 2].includes(values.get(TAG.extra) ?? 0),
    frames: Math.max(1, countPictures('tiff', file)),
    profile: values.has(TAG.profile),
    exif: values.has(TAG.exif),
    xmp: values.has(TAG.xmp),
    iptc: values.has(TAG.iptc),
    ...(stated !== undefined && { density: stated }),
  };
}
