/** Looks through a file before an engine gets it, for what no engine may decode and for what their inspections do not find. */
import type { Facts } from '../engine.ts';
import { hasDollars } from './documents/dollars.ts';
import type { PictureHeader } from './headers/picture.ts';
import { pictureHeader } from './headers/read.ts';
import { boundFrames } from './pictures/frames.ts';
import { depthOfHeif } from './pictures/heif-depth.ts';
import { exifOfPng } from './pictures/png.ts';
import type { Pieces } from './pieces.ts';
import { cutOffIn } from './recordings/cut.ts';
import { waveSays } from './recordings/wave.ts';

const FINDS: Readonly<Record<string, (file: Pieces, picture: PictureHeader | undefined) => Facts>> = {
  png: exifOfPng,
  apng: exifOfPng,
  heic: (file) => ({ depth: depthOfHeif(file) }),
  avif: (file) => ({ depth: depthOfHeif(file) }),
  md: (file) => ({ dollars: hasDollars(file) }),
  wav: waveSays,
  // ImageMagick 6 and FFmpeg do not read its EXIF.
  webp: (_, picture) => (picture === undefined || picture.orientation === 1 ? {} : { orientation: picture.orientation }),
};

/** @returns facts for the plan of whichever engine reads the file first, and for the receipt: `picture`, and `cutOff` of a recording whose end is missing @throws Failure `input_limit` for too many frames or pages */
export function lookThrough(format: string, file: Pieces): Facts {
  boundFrames(format, file);
  const picture = pictureHeader(format, file);
  return { ...FINDS[format]?.(file, picture), ...cutOffIn(format, file), ...(picture !== undefined && { picture }) };
}
