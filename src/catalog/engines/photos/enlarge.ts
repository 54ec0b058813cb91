/** Our own program around Real-ESRGAN, a model that enlarges photos and draws details: ImageMagick decodes and encodes. */
import type { Engine, Plan, Step } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { modelStep } from '../../planning/told.ts';
import { type ToolTask, taskOf } from '../../tool.ts';
import { boundedSides } from '../pictures/imagemagick/inspect.ts';
import { planRetouch, resultIn, engine as retouch, retouch as retouchStep } from './retouch.ts';

const MODEL = 'realesrgan-x4plus';
/** Pixels of a picture that the model draws: up to five minutes on a busy processor, whatever the scale. */
export const MOST_DRAWN = 500_000;

export const engine: Engine = {
  ...retouch,
  id: 'enlarge',
  name: MODEL,
  role: 'ai',
  toolchains: ['ai'],
  binaries: {
    enlarge: { at: ['program:pictures/enlarge.ts'], version: { args: ['--version'], pattern: /^enlarge (\d+\.\d+)/ }, models: [MODEL] },
    ...retouch.binaries,
  },
  trials: [{ file: PNG, target: 'png', slow: true }],
  plan: (task) => planRetouch(task, (picture) => [enlarge(picture, resultIn(task.scratch), 2)]),
};

/** A call of our program. */
const enlarge = (input: string, output: string, scale: number): Step =>
  modelStep('enlarge', [input, output, `${scale}`], { input, output });

export const enlarged = (order: ToolTask, scale: number): Plan =>
  planRetouch(taskOf(order), (picture) => [enlarge(picture, resultIn(order.scratch), scale)]);

/** Draws a photo again at its own size, which leaves noise and blur out, before or after a classical operation. */
export function redrawn(order: ToolTask, operation: string, { first }: { readonly first: 'draw' | 'operation' }): Plan {
  for (const source of order.sources) boundedSides(source, MOST_DRAWN);
  const [between, result] = [`${order.scratch}/between/picture.pam`, resultIn(order.scratch)];
  return planRetouch(taskOf(order), (picture) =>
    first === 'draw'
      ? [enlarge(picture, between, 1), retouchStep(operation, between, result)]
      : [retouchStep(operation, picture, between), enlarge(between, result, 1)],
  );
}
