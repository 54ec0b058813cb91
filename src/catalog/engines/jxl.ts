/** libjxl's own programs: JPEG XL from and to the formats that they read, a JPEG without loss. */
import { conversionFailed, inputLimit } from '../../errors.ts';
import type { Engine, Facts, Plan, Task } from '../engine.ts';
import { everyPair } from '../engine.ts';
import { explain } from './imagemagick/explain.ts';
import { CONVERT, pingStep, readPing } from './imagemagick/inspect.ts';

const MAX_PIXELS = 100_000_000;
const ENCODES = ['png', 'jpg', 'ppm', 'pgm'];
const DECODES = ['png', 'jpg', 'ppm'];

export const engine: Engine = {
  id: 'jxl',
  name: 'libjxl',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    cjxl: { at: ['/usr/bin/cjxl'], version: { args: ['--version'], pattern: /cjxl v(\d+\.\d+\.\d+)/ } },
    djxl: { at: ['/usr/bin/djxl'] },
    jxlinfo: { at: ['/usr/bin/jxlinfo'] },
    convert: CONVERT,
  },
  conversions: [...everyPair(ENCODES, ['jxl'], { rank: 85 }), ...everyPair(['jxl'], DECODES, { rank: 85 })],
  options: (_source, target) => (target === 'png' || target === 'ppm' ? [] : ['img_quality']),
  inspect: {
    step: (input, task) => (task.source === 'jxl' ? { run: 'jxlinfo', args: [input] } : pingStep(input, task)),
    read: (stdout, { source }) => (source === 'jxl' ? bounded(stdout) : readPing(stdout)),
  },
  plan,
  explain: (words) => explain(words) ?? (/alloc/i.test(words) ? 'memory' : undefined),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** @throws Failure `input_limit`, or `corrupt_input` where no size is told */
function bounded(stdout: string): Facts {
  const [, width, height] = /, (\d+)x(\d+),/.exec(stdout) ?? [];
  if (width === undefined || height === undefined) throw conversionFailed('corrupt_input');
  const pixels = Number(width) * Number(height);
  if (pixels > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, pixels);
  return { pixels };
}

function plan({ source, target, options, input, output }: Task): Plan {
  const quality = options.img_quality;
  if (source === 'jxl') {
    // Without a quality, a JPEG that went into the file comes out of it byte by byte.
    const jpeg = target === 'jpg' && quality !== undefined ? [`--jpeg_quality=${Math.max(1, quality)}`] : [];
    return { steps: [{ run: 'djxl', args: [input, `${output}/out.${target}`, '--num_threads=2', ...jpeg] }] };
  }
  const anew =
    source === 'jpg' && quality === undefined ? ['--lossless_jpeg=1'] : ['--lossless_jpeg=0', '-q', `${Math.max(1, quality ?? 80)}`];
  return { steps: [{ run: 'cjxl', args: [input, `${output}/out.jxl`, '--num_threads=2', '-e', '4', ...anew] }] };
}
