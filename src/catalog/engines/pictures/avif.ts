/**
 * libavif: AVIF of 10 bits, of pictures that have more than 8. sharp's encoder knows 8 alone, and libheif's of Debian 12 fails for more. libvips edits
 * the picture, as it does for all other AVIF.
 */
import type { Engine, Plan, ProcessStep, Task } from '../../engine.ts';
import { DEEP_PNG } from '../../known-good.ts';
import type { Options } from '../../options/options.ts';
import { needOf } from '../../planning/encoders.ts';
import { bounded, decodes } from './heif.ts';
import { pick } from './imagemagick/command.ts';
import { edits } from './imagemagick/edits.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { type Frame, framesOf, pingStep, readPing } from './imagemagick/inspect.ts';
import { pagesAt } from './libvips/request.ts';
import { engine as sharp } from './sharp.ts';
import { planVips } from './tiff/read.ts';
import { readTags, tagsStep } from './tiff/tags.ts';
import { engine as tiff } from './tiff.ts';

/** Its encoder takes 40 bytes of memory for a pixel. */
const MOST_DEEP_PIXELS = 40_000_000;

export const engine: Engine = {
  id: 'avif',
  name: 'libavif',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    avifenc: { at: ['/usr/bin/avifenc'], version: { args: ['--version'], pattern: /^Version: (\d+\.\d+\.\d+)/m } },
    ...tiff.binaries,
  },
  // Better than what does not look at the depth.
  conversions: [
    { source: 'png', target: 'avif', rank: 91 },
    { source: 'tiff', target: 'avif', rank: 92 },
    { source: 'avif', target: 'avif', rank: 91 },
  ],
  trials: [{ file: DEEP_PNG, target: 'avif' }],
  options: sharp.options,
  inspect: {
    step: (input, task) => {
      if (task.source === 'tiff') return tagsStep(input);
      const step = decodes(task) ? { run: 'info', args: [input] } : pingStep(input, task);
      return { ...step, succeeds: [0, 1] };
    },
    // What these do not read, ImageMagick for its policy, libvips may convert all the same.
    read: (stdout, { source }) => {
      if (source === 'tiff') return readTags(stdout);
      if (source === 'avif') return /^image: \d/m.test(stdout) ? bounded(stdout) : { frames: [] };
      return /^\d+ \d+ /m.test(stdout) ? readPing(stdout) : { frames: [] };
    },
  },
  plan,
  explain: explainImageMagick,
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

function plan(task: Task): Plan {
  const all = framesOf(task.facts);
  const indices = all.length > 0 ? pick(task, 'pages').indices : [];
  const frames = indices.flatMap((index) => all[index] ?? []);
  if (frames.every(({ shallow }) => shallow !== false)) return edited(task);
  if (frames.some((frame) => pixelsOf(frame, task.options) > MOST_DEEP_PIXELS)) {
    const { steps, warnings = [] } = edited(task);
    return {
      steps,
      warnings: [...warnings, { code: 'lossy', message: 'The picture is so large that it has 8 bits a colour in the result.' }],
    };
  }
  const needs = needOf('avif of 10 bits', { width: Math.max(...frames.map((frame) => pixelsOf(frame, task.options))), height: 1 });
  return { ...deep(task, indices.length), needs };
}

/** How many the result has. */
function pixelsOf(frame: Frame, options: Options): number {
  const { width, height } = edits(frame, options);
  return width * height;
}

const edited = (task: Task): Plan => (task.source === 'tiff' ? planVips(task) : sharp.plan(task));

/** The edited picture, or each page of it, as a PNG of 16 bits, of which an AVIF is made. */
function deep(task: Task, pages: number): Plan {
  const folder = `${task.scratch}/deep`;
  const { steps, warnings = [] } = edited({ ...task, target: 'png', output: folder });
  return {
    warnings,
    steps: [
      ...steps.map((step) => ('talk' in step ? { ...step, output: folder } : step)),
      ...pagesAt(`${folder}/result.png`, pages).map((picture) => encode(picture, task)),
    ],
  };
}

/** As libvips encodes one of 8 bits: the same scale of quality, the colours of each pixel, EXIF, XMP and profile kept. */
function encode(picture: string, { options: { img_quality: quality = 80 }, output }: Task): ProcessStep {
  const name = picture.slice(picture.lastIndexOf('/') + 1).replace(/\.png$/, '.avif');
  return {
    run: 'avifenc',
    args: [
      ...['--depth', '10', '--yuv', '444', '--speed', '7', '--jobs', '2', '--min', '0', '--max', '63'],
      ...['-a', 'end-usage=q', '-a', `cq-level=${Math.round((63 * (100 - quality)) / 100)}`, '-a', 'tune=ssim'],
      ...[picture, `${output}/${name}`],
    ],
  };
}
