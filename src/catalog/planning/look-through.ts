/** Looks through a file before an engine gets it, for what no engine may decode and for what their inspections do not find. */
import type { Facts } from '../engine.ts';
import { pictureHeader } from './headers/read.ts';
import { boundFrames } from './pictures/frames.ts';
import { depthOfHeif } from './pictures/heif-depth.ts';
import { exifOfPng } from './pictures/png.ts';
import type { Pieces } from './pieces.ts';

const FINDS: Readonly<Record<string, (file: Pieces) => Facts>> = {
  png: exifOfPng,
  apng: exifOfPng,
  heic: (file) => ({ depth: depthOfHeif(file) }),
  avif: (file) => ({ depth: depthOfHeif(file) }),
};

/** @returns facts for the plan of whichever engine reads the file first, and for the receipt: `picture` @throws Failure `input_limit` for too many frames or pages */
export function lookThrough(format: string, file: Pieces): Facts {
  boundFrames(format, file);
  const picture = pictureHeader(format, file);
  return { ...FINDS[format]?.(file), ...(picture !== undefined && { picture }) };
}
