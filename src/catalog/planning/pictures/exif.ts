/** EXIF from and to TIFF, where neither libvips nor ImageMagick reads or writes it. */
import type { Binary, ProcessStep } from '../../engine.ts';

/** Copies EXIF from a TIFF or a carrier to a TIFF, or into a JPEG of one pixel. */
export const EXIF: Binary = { at: ['program:pictures/exif.ts'] };
/** A PNG or JPEG of one pixel in the folder of the results, which the step removes. */
export const CARRIER = 'carrier';

/** Needs the binary `exif`. */
export const carryExif = (from: string, to: string): ProcessStep => ({ run: 'exif', args: [from, to] });
