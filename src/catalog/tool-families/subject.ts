/** What tools have in common that find the subject of a photo: by a model, or by the plain backdrop that it stands before. */
import { engine as small } from '../engines/photos/matte.ts';
import { engine as fine } from '../engines/photos/matte-fine.ts';
import { engine as large } from '../engines/photos/matte-large.ts';
import { engine as classical } from '../engines/photos/retouch.ts';
import { modelName } from '../options/fields.ts';
import type { Method } from '../tool.ts';

export const subjectModel = modelName
  .describe(`${fine.name}, ${large.name}, ${small.name} or ${classical.name}, as far as they are installed`)
  .optional();
export const SUBJECT_MODEL_TEXT = {
  means: `What finds the subject: the first of ${fine.name}, ${large.name} and ${small.name} that is installed, of which each takes half the time of the one before, or ${classical.name}, which needs a plain background.`,
};

/** The better model first; without one, what takes a plain backdrop away. */
export const bySubject = (byModel: Method['plan'], byBackdrop: Method['plan']): readonly [Method, ...Method[]] => [
  { engine: fine, plan: byModel },
  { engine: large, plan: byModel },
  { engine: small, plan: byModel },
  { engine: classical, plan: byBackdrop },
];
