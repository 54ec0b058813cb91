/** Our own program around MI-GAN, a model that fills holes in photos: ImageMagick decodes and encodes. */
import type { Engine, Step } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { modelStep } from '../../planning/told.ts';
import { planRetouch, resultIn, engine as retouch } from './retouch.ts';

const MODEL = 'migan';

/** @param model that fills */
export const inpaintingBy = (model: string): Engine['binaries'] => ({
  inpaint: { at: ['program:pictures/inpaint.ts'], version: { args: ['--version'], pattern: /^inpaint (\d+\.\d+)/ }, models: [model] },
  ...retouch.binaries,
});

export const engine: Engine = {
  ...retouch,
  id: 'inpaint',
  name: MODEL,
  role: 'ai',
  toolchains: ['ai'],
  binaries: inpaintingBy(MODEL),
  trials: [{ file: PNG, target: 'png', slow: true }],
  plan: (task) => planRetouch(task, (picture) => [inpaint(picture, resultIn(task.scratch), ['0', '0', '1', '1'])]),
};

/** A call of our program. @param hole X, Y, width and height @param mask path of a picture that is white where the hole is, in place of them */
export const inpaint = (input: string, output: string, hole: readonly string[], mask?: string): Step =>
  modelStep('inpaint', [input, output, ...(mask === undefined ? hole : [mask])], {
    input,
    output,
    ...(mask !== undefined && { beside: mask }),
  });
