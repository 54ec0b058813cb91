/** Reads orientation and resolution from the first directory of EXIF (CIPA DC-008, 4.6.5). */
import { directoryNumbers } from '../../looks/bytes.ts';

/** Bytes of EXIF that are read: all of interest is in the first directory, which programs write first. */
export const MOST_EXIF = 16 * 1024;
const [ORIENTATION, X_RESOLUTION, RESOLUTION_UNIT] = [0x0112, 0x011a, 0x0128];
const [LONG, CENTIMETRES] = [4, 3];

export interface ExifSays {
  /** 1 to 8. */
  readonly orientation?: number;
  /** Pixels an inch. */
  readonly density?: number;
}

/** @param exif from its byte order on */
export function exifSays(exif: Uint8Array): ExifSays {
  const { short, long } = directoryNumbers(exif);
  const first = long(exif, 4);
  const entries = Array.from({ length: Math.min(short(exif, first), Math.floor(exif.length / 12)) }, (_, index) => first + 2 + 12 * index);
  const entryOf = (tag: number) => entries.find((at) => short(exif, at) === tag);
  const numberOf = (tag: number) => {
    const entry = entryOf(tag);
    return entry === undefined ? undefined : short(exif, entry + 2) === LONG ? long(exif, entry + 8) : short(exif, entry + 8);
  };
  const orientation = numberOf(ORIENTATION) ?? 0;
  const resolution = entryOf(X_RESOLUTION);
  const at = resolution === undefined ? Number.NaN : long(exif, resolution + 8);
  // A fraction of two numbers.
  const across = long(exif, at) / long(exif, at + 4);
  const density = Math.round(numberOf(RESOLUTION_UNIT) === CENTIMETRES ? across * 2.54 : across);
  return { ...(orientation >= 1 && orientation <= 8 && { orientation }), ...(density > 1 && Number.isFinite(density) && { density }) };
}
