/** Our own program around U²-Net, a model that finds what stands out in a photo: takes the background away, or puts another one there. */

import type { Engine, Plan, Step } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { modelStep } from '../../planning/told.ts';
import { type ToolTask, taskOf } from '../../tool.ts';
import { boundedSides } from '../pictures/imagemagick/inspect.ts';
import { engine as imagemagick } from '../pictures/imagemagick.ts';
import { planRetouch, resultIn, engine as retouch } from './retouch.ts';

const MODEL = 'u2netp';

/** @param models the first one finds what stands out */
export const around = (models: readonly string[]): Engine['binaries'] => ({
  matte: { at: ['program:pictures/matte.ts'], version: { args: ['--version'], pattern: /^matte (\d+\.\d+)/ }, models },
  ...imagemagick.binaries,
});

export const engine: Engine = {
  ...retouch,
  id: 'matte',
  name: MODEL,
  role: 'ai',
  toolchains: ['ai'],
  binaries: around([MODEL]),
  trials: [{ file: PNG, target: 'png', slow: true }],
  plan: (task) => planRetouch(task, (picture) => [matte('cut', picture, resultIn(task.scratch))]),
};

/** A call of our program. @param more what the operation needs beside the files */
const matte = (operation: string, input: string, output: string, ...more: readonly string[]): Step =>
  modelStep('matte', [operation, input, output, ...more], { input, output });

/** Puts the subject before another picture. */
export const matteOver = (input: string, beside: string, output: string): Step =>
  modelStep('matte', ['over', input, output, beside], { input, beside, output });

/** Runs one operation of `exec/programs/pictures/matte.ts` on the first photo. @param dpi of a picture that is made for paper */
export function matted(order: ToolTask, operation: string, more: readonly string[] = [], dpi?: number): Plan {
  for (const source of order.sources) boundedSides(source);
  return planRetouch(taskOf(order), (picture) => [matte(operation, picture, resultIn(order.scratch), ...more)], dpi);
}
