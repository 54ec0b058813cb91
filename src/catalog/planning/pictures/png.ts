/** Chunks of a PNG, and what EXIF in one of them says of how the picture lies. */
import type { Facts } from '../../engine.ts';
import { directoryNumbers, has, u32be } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';

/** PNG 3, 5.3: length, name, data and checksum. */
interface Chunk {
  /** Length and name. */
  readonly head: Uint8Array;
  /** Place and bytes of its data. */
  readonly at: number;
  readonly length: number;
}

export function* chunksIn(file: Pieces): Generator<Chunk> {
  for (let at = 8; at + 12 <= file.size; ) {
    const head = file.read(at, 8);
    const length = u32be(head, 0);
    yield { head, at: at + 8, length };
    at += 12 + length;
  }
}

/**
 * PNG 3, 11.3.4.5: `eXIf`, of which the first counts. ImageMagick 6 does not read it, and libvips only where it stands before the pixels.
 * @returns `orientation`, and `exifBehind` where it stands behind them
 */
export function exifOfPng(file: Pieces): Facts {
  let exifBehind = false;
  for (const { head, at, length } of chunksIn(file)) {
    if (has(head, 4, 'IDAT')) exifBehind = true;
    else if (has(head, 4, 'eXIf')) return { orientation: orientationIn(file.read(at, Math.min(length, MOST_EXIF))), exifBehind };
  }
  return {};
}

/** @param facts as `exifOfPng` has found them, or those of another format, of which nothing has to be found @returns 1 to 8 */
export const orientationOf = ({ orientation }: Facts): number | undefined => orientation as number | undefined;

/** Bytes. It is in the first directory, which programs write first. */
const MOST_EXIF = 16 * 1024;
const [ORIENTATION, LONG] = [0x0112, 4];

/** @returns 1 to 8 (CIPA DC-008, 4.6.5.1.6) */
function orientationIn(exif: Uint8Array): number | undefined {
  const { short, long } = directoryNumbers(exif);
  const first = long(exif, 4);
  const entries = Array.from({ length: Math.min(short(exif, first), Math.floor(exif.length / 12)) }, (_, index) => first + 2 + 12 * index);
  const entry = entries.find((at) => short(exif, at) === ORIENTATION);
  if (entry === undefined) return undefined;
  const value = short(exif, entry + 2) === LONG ? long(exif, entry + 8) : short(exif, entry + 8);
  return value >= 1 && value <= 8 ? value : undefined;
}
