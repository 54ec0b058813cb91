/** Our own classical image processing, without any model: enlarges, enhances and restores photos, and removes objects. ImageMagick decodes and encodes. */
import type { Engine, Plan, Step, Task } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { ownStep, reasonTold } from '../../planning/told.ts';
import { WRITERS } from '../pictures/imagemagick/coders.ts';
import { flatten } from '../pictures/imagemagick/command.ts';
import { explainImageMagick } from '../pictures/imagemagick/explain.ts';
import { IMAGEMAGICK_LIMITS } from '../pictures/imagemagick/inspect.ts';
import { engine as imagemagick } from '../pictures/imagemagick.ts';

/** Quality for lossy formats: an improved picture must not be blurred again. */
const QUALITY = 92;

export const engine: Engine = {
  id: 'retouch',
  name: 'classical',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    retouch: { at: ['program:pictures/retouch.ts'], version: { args: ['--version'], pattern: /^retouch (\d+\.\d+)/ } },
    ...imagemagick.binaries,
  },
  // Its tools have their own plans.
  conversions: [],
  trials: [{ file: PNG, target: 'png' }],
  options: () => [],
  inspect: imagemagick.inspect as NonNullable<Engine['inspect']>,
  plan: (task) => planRetouch(task, (picture) => [retouch('enhance', picture, resultIn(task.scratch))]),
  explain: (output, code) =>
    reasonTold(output, code, ['input_limit', 'model_not_installed']) ??
    (/Array buffer allocation failed|heap out of memory/.test(output) ? 'memory' : explainImageMagick(output)),
  // A photo of 16 megapixels has four planes of 64 MB, and filters have several of each.
  limits: { memoryBytes: 3 * 1024 ** 3 },
};

/** In a separate folder, which a resident program hands over. */
export const resultIn = (scratch: string): string => `${scratch}/result/picture.pam`;

/** A call of our program. @param more what the operation needs beside the files */
export const retouch = (operation: string, from: string, to: string, ...more: readonly string[]): Step =>
  ownStep('retouch', [operation, from, to, ...more]);

/** Decodes the first picture of a file, upright and in sRGB. @param name of the decoded one, without its extension */
export function decodeAs(name: string, task: Task): Plan & { readonly picture: string } {
  const { steps, warnings = [] } = imagemagick.plan({ ...task, target: 'pam', options: { pages: [[1, 1]] }, output: task.scratch });
  const [written, picture] = ['out', name].map((each) => `${task.scratch}/${each}.pam`) as [string, string];
  const renamed = steps.map((step) =>
    'run' in step ? { ...step, args: step.args.map((arg) => (arg === `pam:${written}` ? `pam:${picture}` : arg)) } : step,
  );
  return { steps: renamed, warnings, picture };
}

/**
 * Decodes a photo, does something to it, and encodes what came of it.
 * @param work steps from the decoded file to `resultIn` @param dpi of a picture that is made for paper
 */
export function planRetouch(task: Task, work: (picture: string) => readonly Step[], dpi?: number): Plan {
  const { target, scratch, output } = task;
  const { steps, warnings = [], picture } = decodeAs('photo', task);
  const writer = WRITERS[target];
  const encode: Step = {
    run: 'convert',
    args: [
      ...IMAGEMAGICK_LIMITS,
      `pam:${resultIn(scratch)}`,
      ...['-colorspace', 'sRGB'],
      ...(writer?.alpha ? [] : flatten('#ffffff')),
      ...(dpi === undefined ? [] : ['-density', `${dpi}`, '-units', 'PixelsPerInch']),
      ...(writer?.quality ? ['-quality', `${QUALITY}`] : []),
      ...(writer?.encode ?? []),
      `${writer?.coder}:${output}/out.${target}`,
    ],
  };
  return { warnings, steps: [...steps, ...work(picture), encode] };
}
