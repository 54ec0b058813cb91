/** libheif's own programs: HEIC and AVIF to PNG and JPEG, and HEIC from JPEG (heif-enc 1.15 misreads PNG palettes); for where ImageMagick was built without libheif. */
import { conversionFailed, inputLimit } from '../../errors.ts';
import type { Engine, Facts, Plan, Task } from '../engine.ts';
import { everyPair } from '../engine.ts';

const MAX_PIXELS = 100_000_000;
const STILLS = ['png', 'jpg'];

export const engine: Engine = {
  id: 'heif',
  name: 'libheif',
  role: 'image',
  toolchains: ['image', 'pdf'],
  binaries: {
    // Its later name is heif-dec.
    convert: {
      at: ['/usr/bin/heif-convert', '/usr/bin/heif-dec'],
      version: { args: ['--help'], pattern: /libheif version: (\d+\.\d+\.\d+)/ },
    },
    encode: { at: ['/usr/bin/heif-enc'] },
    info: { at: ['/usr/bin/heif-info'] },
  },
  conversions: [...everyPair(['heic', 'avif'], STILLS, { rank: 60 }), { source: 'jpg', target: 'heic', rank: 55 }],
  options: (_source, target) => (target === 'png' ? [] : ['img_quality']),
  inspect: {
    // Of the other sources it says that they are none, which is no failure of theirs.
    step: (input) => ({ run: 'info', args: [input], succeeds: [0, 1] }),
    read: (stdout, { source }) => (source === 'jpg' ? {} : bounded(stdout)),
  },
  plan,
  explain: (words) => (/unsupported|no (en|de)coder|plugin/i.test(words) ? 'engine_missing' : undefined),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** @throws Failure `input_limit`, or `corrupt_input` where no size is told */
function bounded(stdout: string): Facts {
  const sizes = [...stdout.matchAll(/^image: (\d+)x(\d+)/gm)].map(([, width, height]) => Number(width) * Number(height));
  if (sizes.length === 0) throw conversionFailed('corrupt_input');
  const pixels = Math.max(...sizes);
  if (pixels > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, pixels);
  return { pixels };
}

function plan({ source, target, options, input, output }: Task): Plan {
  const quality = `${options.img_quality ?? 80}`;
  const result = `${output}/out.${target}`;
  if (source === 'jpg') return { steps: [{ run: 'encode', args: ['-q', quality, '-o', result, input] }] };
  return { steps: [{ run: 'convert', args: [...(target === 'jpg' ? ['-q', quality] : []), input, result] }] };
}
