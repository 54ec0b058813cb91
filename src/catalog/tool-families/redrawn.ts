/** What tools have in common that improve a photo by a classical operation, alone or beside a model that draws the photo again. */
import { cleaned, engine as scunet } from '../engines/photos/clean.ts';
import { engine as realesrgan, redrawn } from '../engines/photos/enlarge.ts';
import { engine as classical } from '../engines/photos/retouch.ts';
import { modelName } from '../options/fields.ts';
import type { Method } from '../tool.ts';
import { retouched } from './photo.ts';

export const drawingModel = modelName.optional();
export const DRAWING_MODEL_TEXT = {
  means: `What takes the noise away: classical, unless another is named; ${scunet.name} tells it from details better, and takes a minute; ${realesrgan.name} draws the photo again, sharper than it was, and takes minutes.`,
};

/** @param first what the model is to see: a photo as it is, or one without what it would take for details */
export const byOperation = (operation: string, order: { readonly first: 'draw' | 'operation' }): readonly [Method, ...Method[]] => [
  { engine: classical, plan: (task) => retouched(task, operation) },
  { engine: scunet, onRequest: true, plan: (task) => cleaned(task, operation) },
  { engine: realesrgan, onRequest: true, plan: (task) => redrawn(task, operation, order) },
];
