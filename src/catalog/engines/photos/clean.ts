/** Our own program around SCUNet, a model that takes noise from photos: ImageMagick decodes and encodes. */
import type { Engine, Plan, Step } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { modelStep } from '../../planning/told.ts';
import { type ToolTask, taskOf } from '../../tool.ts';
import { boundedSides } from '../pictures/imagemagick/inspect.ts';
import { planRetouch, resultIn, engine as retouch, retouch as retouchStep } from './retouch.ts';

const MODEL = 'scunet-psnr';
/** Pixels that it cleans within some minutes. */
const MOST_CLEANED = 2_000_000;

export const engine: Engine = {
  ...retouch,
  id: 'clean',
  name: MODEL,
  role: 'ai',
  toolchains: ['ai'],
  binaries: {
    clean: { at: ['program:pictures/clean.ts'], version: { args: ['--version'], pattern: /^clean (\d+\.\d+)/ }, models: [MODEL] },
    ...retouch.binaries,
  },
  trials: [{ file: PNG, target: 'png', slow: true }],
  plan: (task) => planRetouch(task, (picture) => [clean(picture, resultIn(task.scratch))]),
};

/** A call of our program. */
const clean = (input: string, output: string): Step => modelStep('clean', [input, output], { input, output });

/** Takes the noise from a photo, and then runs a classical operation on it. */
export function cleaned(order: ToolTask, operation: string): Plan {
  for (const source of order.sources) boundedSides(source, MOST_CLEANED);
  const between = `${order.scratch}/between/picture.pam`;
  return planRetouch(taskOf(order), (picture) => [clean(picture, between), retouchStep(operation, between, resultIn(order.scratch))]);
}
