/** libjxl's programs: JPEG XL from and to the formats that they support, JPEG losslessly. Edits and flattening go through ImageMagick. */
import { conversionFailed, inputLimit } from '../../../errors.ts';
import { MAX_PIXELS } from '../../bounds.ts';
import type { Engine, Facts, Plan, Task } from '../../engine.ts';
import { everyPair } from '../../engine.ts';
import { JXL, PNG } from '../../known-good.ts';
import { isDefault } from '../../options/defaults.ts';
import { PICTURE_EDITS } from '../../options/options.ts';
import { needOf } from '../../planning/encoders.ts';
import { carryExif, EXIF } from '../../planning/pictures/exif.ts';
import { flatten, readAndEdit, STRIP } from './imagemagick/command.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, framesOf, IMAGEMAGICK_LIMITS, pingStep, readPing } from './imagemagick/inspect.ts';
import { TO_SRGB } from './imagemagick/srgb.ts';

const ENCODES = ['png', 'jpg', 'ppm', 'pgm'];
const DECODES = ['png', 'jpg', 'ppm'];
const DEFAULT_QUALITY = 80;
/** Lower qualities would mean a distance above 25, which libjxl refuses. */
const LOWEST_QUALITY = 5;

export const engine: Engine = {
  id: 'jxl',
  name: 'libjxl',
  role: 'image',
  toolchains: ['image'],
  binaries: {
    cjxl: { at: ['/usr/bin/cjxl'], version: { args: ['--version'], pattern: /cjxl v(\d+\.\d+\.\d+)/ } },
    djxl: { at: ['/usr/bin/djxl'] },
    jxlinfo: { at: ['/usr/bin/jxlinfo'] },
    exif: EXIF,
    convert: CONVERT,
  },
  conversions: [...everyPair(ENCODES, ['jxl'], { rank: 85 }), ...everyPair(['jxl'], DECODES, { rank: 85 })],
  trials: [
    { file: JXL, target: 'png' },
    { file: PNG, target: 'jxl' },
  ],
  options: (_source, target) => {
    if (target === 'jxl') return [...PICTURE_EDITS, 'strip_metadata', 'img_quality'];
    return target === 'jpg' ? ['img_quality', 'background', 'strip_metadata'] : ['strip_metadata'];
  },
  inspect: {
    step: (input, task) => (task.source === 'jxl' ? { run: 'jxlinfo', args: [input] } : pingStep(input, task)),
    read: (stdout, { source }) => (source === 'jxl' ? bounded(stdout) : readPing(stdout)),
  },
  plan,
  explain: (output) => {
    // Version 0.7 writes no picture of 32-bit floats with opacity.
    if (output.includes('Alpha bit depth does not match')) return 'unsupported_variant';
    return explainImageMagick(output) ?? (/alloc/i.test(output) ? 'memory' : undefined);
  },
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** Numbers that may be beyond black and white; version 0.7 writes them only if the call sets the number of bits. */
const FLOAT = /-bit float (?:\(\d+ exponent bits\) )?/;

/** @throws Failure `input_limit`, or `corrupt_input` if the output has no size */
function bounded(stdout: string): Facts {
  const [, width, height] = /, (\d+)x(\d+),/.exec(stdout) ?? [];
  if (width === undefined || height === undefined) throw conversionFailed('corrupt_input');
  const pixels = Number(width) * Number(height);
  if (pixels > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, pixels);
  const channels = stdout.replace(FLOAT, '-bit ').split('-bit ').slice(1);
  return { pixels, transparent: channels.some(hasAlpha), float: FLOAT.test(stdout) };
}

/** @param channels text after the bit depth, such as `RGBA` or `RGB+Alpha` */
function hasAlpha(channels: string): boolean {
  const [word = ''] = channels.toLowerCase().split(/\s/, 1);
  const more = word.indexOf('+');
  return word.startsWith('rgba') || (more >= 0 && word.includes('alpha', more));
}

function plan(task: Task): Plan {
  return task.source === 'jxl' ? decode(task) : encode(task);
}

function decode({ target, options, input, output, scratch, facts }: Task): Plan {
  const quality = options.img_quality === undefined ? undefined : Math.max(1, options.img_quality);
  const djxl = (to: string, ...more: readonly string[]) => ({ run: 'djxl', args: [input, to, '--num_threads=2', ...more] });
  const [float, transparent, strip] = [facts['float'] === true, facts['transparent'] === true, options.strip_metadata === true];
  if (float || strip || target === 'ppm' || (target === 'jpg' && transparent)) {
    const decoded = `${scratch}/decoded.png`;
    const laid = [
      ...IMAGEMAGICK_LIMITS,
      `png:${decoded}`,
      // Floats are linear light, mostly, and a PPM has no profile.
      ...TO_SRGB,
      ...(strip ? STRIP : []),
      ...(target === 'png' ? [] : flatten(options.background ?? '#ffffff')),
      ...(target === 'jpg' ? ['-quality', `${quality ?? DEFAULT_QUALITY}`] : []),
      `${target === 'jpg' ? 'jpeg' : target}:${output}/out.${target}`,
    ];
    const tells = strip || target === 'ppm' ? [] : [carryExif(input, decoded)];
    return { steps: [djxl(decoded, ...(float ? ['--bits_per_sample=16'] : [])), ...tells, { run: 'convert', args: laid }] };
  }
  // Without a quality, a JPEG that was stored losslessly is restored byte by byte.
  const jpeg = target === 'jpg' && quality !== undefined ? [`--jpeg_quality=${quality}`] : [];
  const result = `${output}/out.${target}`;
  // Version 0.7 leaves it out.
  return { steps: [djxl(result, ...jpeg), carryExif(input, result)] };
}

/** libjxl takes the gamma that ImageMagick writes for the curve of sRGB literally. */
const PLAIN_SRGB = ['-define', 'png:exclude-chunks=gAMA,cHRM'];

function encode(task: Task): Plan {
  const { source, options, input, output, scratch, facts } = task;
  const { img_quality: quality, strip_metadata: strip } = options;
  const [edited, result] = [`${scratch}/edited.png`, `${output}/out.jxl`];
  const edits = strip || PICTURE_EDITS.some((name) => options[name] !== undefined && !isDefault(name, options[name]));
  // libjxl 0.7 reads what a JPEG says beside its pixels, and not what a PNG says.
  const tells = source === 'png' && !strip;
  const carried = tells ? [carryExif(input, result)] : [];
  const container = tells ? ['--container=1'] : [];
  const lossy = ['--lossless_jpeg=0', '-q', `${Math.max(LOWEST_QUALITY, quality ?? DEFAULT_QUALITY)}`];
  const cjxl = (path: string, ...how: readonly string[]) => ({
    run: 'cjxl',
    args: [path, result, '--num_threads=2', '-e', '4', ...how, ...container],
  });
  const picture = readAndEdit(task, [0]);
  const needs = needOf('jxl', picture);
  const decoded = [
    { run: 'convert', args: [...picture.args, ...(strip ? STRIP : []), ...PLAIN_SRGB, `png:${edited}`] },
    cjxl(edited, ...lossy),
    ...carried,
  ];
  if (edits) return { needs, steps: decoded };
  const [frame] = framesOf(facts);
  const isStored = source === 'jpg' && quality === undefined;
  return {
    needs: isStored && frame !== undefined ? needOf('jxl of a jpeg', { width: frame.width, height: frame.height }) : needs,
    // It refuses a JPEG of CMYK or without its end, and colour profiles that do not fit: ImageMagick decodes those first.
    steps: [{ ...cjxl(input, ...(isStored ? ['--lossless_jpeg=1'] : lossy)), succeeds: [0, 1] }],
    next: {
      look: { run: 'jxlinfo', args: [result], succeeds: [0, 1] },
      plan: (said) => (said.includes('JPEG XL') ? { steps: carried } : { needs, steps: decoded }),
    },
  };
}
