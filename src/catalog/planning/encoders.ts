/** What encoders of pictures take for each pixel, so that a picture for which a conversion has too little memory is refused before anything is decoded. Pure. */
import { conversionFailed, type Failure } from '../../errors.ts';
import type { MemoryNeed } from '../engine.ts';

/**
 * Bytes for each pixel of three colours of 8 bits, measured at 4,000 × 3,000 as the most that was resident, less what the program has without a picture.
 * Opacity adds a third of it.
 */
const BYTES_OF_PIXEL: Readonly<Record<string, number>> = {
  // x265 3.5 by heif-enc 1.15.
  heic: 17,
  // cjxl 0.7, effort 4, two threads. For a JPEG that it stores as it is, it asks for twice the second at once, and uses 18 bytes.
  jxl: 50,
  'jxl of a jpeg': 26,
  // OpenJPEG 2.5 by ImageMagick, whose own pixels go into a file where they do not fit.
  jp2: 21,
  j2k: 21,
  // libaom by avifenc 0.11, 10 bits.
  'avif of 10 bits': 40,
};
/** The program itself, and the pixels that ImageMagick has in memory beside the encoder. */
const BESIDE = 128 << 20;

/** @param encoder a key of the table, mostly the format @returns undefined for one that takes rows, or little */
export function needOf(
  encoder: string,
  { width, height, alpha = false }: { width: number; height: number; alpha?: boolean },
): MemoryNeed | undefined {
  const bytes = BYTES_OF_PIXEL[encoder];
  if (bytes === undefined) return undefined;
  return { target: encoder.split(' ', 1)[0] ?? encoder, pixels: width * height, bytesOfPixel: alpha ? (bytes * 4) / 3 : bytes };
}

/** @returns how many pixels an encoder can take @param besideBytes what else is in memory */
export const pixelsWithin = (memoryBytes: number, bytesOfPixel: number, besideBytes = BESIDE): number =>
  Math.max(0, Math.floor((memoryBytes - besideBytes) / bytesOfPixel));

/** A sentence and figures for a picture that does not fit. */
export function beyondMemory(target: string, max: number, received: number) {
  const says = `The result would have ${received} pixels, and the memory of a conversion is enough for ${max} in ${target.toUpperCase()}: ask for a smaller picture with img_resize_w.`;
  return { says, details: { limit: `pixels of ${target}`, max, received } };
}

/** @throws Failure `memory` */
export function requireMemory(need: MemoryNeed | undefined, memoryBytes: number): void {
  if (need === undefined) return;
  const max = pixelsWithin(memoryBytes, need.bytesOfPixel);
  if (need.pixels > max) throw refused(need, max);
}

const refused = ({ target, pixels }: MemoryNeed, max: number): Failure => conversionFailed('memory', beyondMemory(target, max, pixels));
