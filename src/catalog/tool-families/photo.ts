/** What the tools for photos have in common: formats, bounds, and how a photo's size is checked before anything is decoded. */
import { MAX_PHOTO_PIXELS } from '../bounds.ts';
import type { Plan } from '../engine.ts';
import { decodeAs, planRetouch, resultIn, retouch } from '../engines/photos/retouch.ts';
import { READERS, WRITERS } from '../engines/pictures/imagemagick/coders.ts';
import { boundedSides } from '../engines/pictures/imagemagick/inspect.ts';
import { ONE_FILE, type Tool, type ToolSource, type ToolTask, taskOf } from '../tool.ts';
import { inShades, PICTURES } from './picture.ts';

export const PHOTOS = PICTURES.filter((id) => READERS[id] !== undefined);

/** Fields of every tool that takes one photo. */
export const PHOTO = {
  family: 'ai',
  accepts: PHOTOS,
  files: ONE_FILE,
  bounds: { maxBytes: 25 * 1024 * 1024, maxPixels: MAX_PHOTO_PIXELS },
} as const satisfies Partial<Tool>;

/** The photo's own format where it can hold the result, else PNG: an icon has its own sizes. */
export const photoTarget = ([source = '']: readonly string[]): string =>
  source !== 'ico' && WRITERS[inShades(source)] !== undefined ? inShades(source) : 'png';

/** Runs one operation of `exec/programs/pictures/retouch.ts` on the only photo. */
export function retouched(order: ToolTask, operation: string, ...more: readonly string[]): Plan {
  for (const source of order.sources) boundedSides(source);
  return planRetouch(taskOf(order), (picture) => [retouch(operation, picture, resultIn(order.scratch), ...more)]);
}

/** Decodes a second picture beside the photo. @returns where it lies, and the steps */
export const decodeBeside = (order: ToolTask, source: ToolSource, name: string): Plan & { readonly picture: string } =>
  decodeAs(name, taskOf({ ...order, sources: [source] }));
