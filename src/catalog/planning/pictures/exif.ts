/** EXIF from and to TIFF, where neither libvips nor ImageMagick reads or writes it. */
import type { Binary, ProcessStep } from '../../engine.ts';

/** Adds what a TIFF or a carrier says to a TIFF, or writes it into a JPEG of one pixel. */
export const EXIF: Binary = { at: ['program:pictures/exif.ts'] };
/** A PNG or JPEG of one pixel in the folder of the results, which the step removes. */
export const CARRIER = 'carrier';

/** Needs the binary `exif`. */
export const carryExif = (from: string, to: string): ProcessStep => ({ run: 'exif', args: [from, to] });
