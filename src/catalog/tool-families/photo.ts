/** What the tools for photos have in common: formats, bounds, and how a photo's size is checked before anything is decoded. */
import { inputLimit } from '../../errors.ts';
import type { Plan } from '../engine.ts';
import { READERS, WRITERS } from '../engines/imagemagick/coders.ts';
import { framesOf } from '../engines/imagemagick/inspect.ts';
import { decodeAs, planRetouch, resultIn, retouch } from '../engines/retouch.ts';
import { ONE_FILE, type Tool, type ToolSource, type ToolTask } from '../tool.ts';
import { taskOf } from './media.ts';
import { inShades, PICTURES } from './picture.ts';

/** Of a photo, px. */
export const MAX_PHOTO_PIXELS = 16_000_000;

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

/** @returns its sides as it is shown, px @throws Failure `input_limit` */
export function boundedSides({ facts }: Pick<ToolSource, 'facts'>, maxPixels: number = MAX_PHOTO_PIXELS) {
  const frames = framesOf(facts);
  const pixels = Math.max(0, ...frames.map(({ width, height }) => width * height));
  if (pixels > maxPixels) throw inputLimit('pixels', maxPixels, pixels);
  const { width, height, onItsSide } = frames[0] ?? { width: 1, height: 1, onItsSide: false };
  return onItsSide ? { width: height, height: width } : { width, height };
}

/** Runs one operation of `exec/programs/retouch.ts` on the only photo. */
export function retouched(order: ToolTask, operation: string, ...more: readonly string[]): Plan {
  for (const source of order.sources) boundedSides(source);
  return planRetouch(taskOf(order), (picture) => [retouch(operation, picture, resultIn(order.scratch), ...more)]);
}

/** Decodes a second picture beside the photo. @returns where it lies, and the steps */
export const decodeBeside = (order: ToolTask, source: ToolSource, name: string): Plan & { readonly picture: string } =>
  decodeAs(name, taskOf({ ...order, sources: [source] }));
