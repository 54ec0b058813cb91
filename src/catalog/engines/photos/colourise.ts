/** Our own program around DDColor, a model that colours black-and-white photos: ImageMagick decodes and encodes. */
import type { Engine, Plan, Step } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { modelStep } from '../../planning/told.ts';
import { type ToolTask, taskOf } from '../../tool.ts';
import { boundedSides } from '../pictures/imagemagick/inspect.ts';
import { engine as imagemagick } from '../pictures/imagemagick.ts';
import { planRetouch, resultIn, engine as retouch } from './retouch.ts';

const MODEL = 'ddcolor-tiny';

export const engine: Engine = {
  ...retouch,
  id: 'colourise',
  name: MODEL,
  role: 'ai',
  toolchains: ['ai'],
  binaries: {
    colourise: {
      at: ['program:pictures/colourise.ts'],
      version: { args: ['--version'], pattern: /^colourise (\d+\.\d+)/ },
      models: [MODEL],
    },
    ...imagemagick.binaries,
  },
  trials: [{ file: PNG, target: 'png', slow: true }],
  plan: (task) => planRetouch(task, (picture) => [colourise(picture, resultIn(task.scratch))]),
};

/** A call of our program. */
const colourise = (input: string, output: string): Step => modelStep('colourise', [input, output], { input, output });

export function coloured(order: ToolTask): Plan {
  for (const source of order.sources) boundedSides(source);
  return planRetouch(taskOf(order), (picture) => [colourise(picture, resultIn(order.scratch))]);
}
