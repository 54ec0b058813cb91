/** Our own program around Real-ESRGAN, a model that enlarges photos and draws details: ImageMagick decodes and encodes. */
import type { Engine, Plan, Step } from '../engine.ts';
import { PNG } from '../known-good.ts';
import { ownStep } from '../planning/told.ts';
import type { ToolTask } from '../tool.ts';
import { taskOf } from '../tool-families/media.ts';
import { engine as imagemagick } from './imagemagick.ts';
import { planRetouch, resultIn, engine as retouch } from './retouch.ts';

const MODEL = 'realesrgan-x4plus';

export const engine: Engine = {
  ...retouch,
  id: 'enlarge',
  name: MODEL,
  role: 'ai',
  binaries: {
    enlarge: { at: ['program:enlarge.ts'], version: { args: ['--version'], pattern: /^enlarge (\d+\.\d+)/ }, models: [MODEL] },
    ...imagemagick.binaries,
  },
  trials: [{ file: PNG, target: 'png', slow: true }],
  plan: (task) => planRetouch(task, (picture) => [enlarge(picture, resultIn(task.scratch), 2)]),
};

/** A call of our program. */
const enlarge = (from: string, to: string, scale: number): Step => ownStep('enlarge', [from, to, `${scale}`]);

export const enlarged = (order: ToolTask, scale: number): Plan =>
  planRetouch(taskOf(order), (picture) => [enlarge(picture, resultIn(order.scratch), scale)]);
