/** Chunks of a PNG, and what EXIF in one of them says of how the picture lies. */
import type { Facts } from '../../engine.ts';
import { has, u32be } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';
import { exifSays, MOST_EXIF } from './exif-says.ts';

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
    else if (has(head, 4, 'eXIf')) return { orientation: exifSays(file.read(at, Math.min(length, MOST_EXIF))).orientation, exifBehind };
  }
  return {};
}

/** @param facts as `exifOfPng` has found them, or those of another format, of which nothing has to be found @returns 1 to 8 */
export const orientationOf = ({ orientation }: Facts): number | undefined => orientation as number | undefined;
