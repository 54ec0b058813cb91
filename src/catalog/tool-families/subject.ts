/** What tools have in common that find the subject of a photo by a model. */
import { engine as small } from '../engines/matte.ts';
import { engine as large } from '../engines/matte-large.ts';
import { modelName } from '../options/fields.ts';
import type { Method } from '../tool.ts';

export const subjectModel = modelName.describe(`${large.name} or ${small.name}, as far as they are installed`).optional();
export const SUBJECT_MODEL_TEXT = {
  means: `What finds the subject: ${large.name}, which is used where it is installed, or ${small.name}, which takes half the time.`,
};

/** The better model first. */
export const bySubject = (plan: Method['plan']): readonly [Method, Method] => [
  { engine: large, plan },
  { engine: small, plan },
];
