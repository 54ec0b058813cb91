/**
 * libheif's programs, for HEIC with transparency, which ImageMagick 6 neither reads nor writes. Not for JPEG as target: they would rotate twice a
 * picture that has an EXIF orientation too.
 */
import { conversionFailed, inputLimit, type Reason } from '../../../errors.ts';
import { MAX_PIXELS } from '../../bounds.ts';
import { type Engine, everyPair, type Facts, type Plan, type ProcessStep, type Task } from '../../engine.ts';
import { HEIC, PNG } from '../../known-good.ts';
import { PICTURE_EDITS } from '../../options/options.ts';
import { needOf } from '../../planning/encoders.ts';
import { type Meanings, meaningOf } from '../../planning/phrases.ts';
import { READERS } from './imagemagick/coders.ts';
import { mainPictureOnly, pick, readAndEdit, STRIP } from './imagemagick/command.ts';
import { explainImageMagick } from './imagemagick/explain.ts';
import { CONVERT, type Frame, framesOf, LONGEST_SIDE, pingStep, readPing } from './imagemagick/inspect.ts';
import { overDecoded } from './imagemagick/over-decoded.ts';

/** libheif's messages for a codec that is not there. */
const LACKS: Meanings<Reason> = [
  [
    ['unsupported codec', 'no encoder', 'no decoder', 'plugin file cannot be loaded', 'error while loading plugin', 'cannot open plugin'],
    'engine_missing',
  ],
];

/** libheif's decoder, and what it finds in a file. */
export const DECODER = {
  // Later versions call it heif-dec.
  convert: {
    at: ['/usr/bin/heif-convert', '/usr/bin/heif-dec'],
    version: { args: ['--help'], pattern: /libheif version: (\d+\.\d+\.\d+)/ },
  },
  info: { at: ['/usr/bin/heif-info'] },
} as const satisfies Engine['binaries'];

/** Our program for what a file says beside its pixels. */
export const BESIDE = { beside: { at: ['program:pictures/heif.ts'] } } as const satisfies Engine['binaries'];

export const engine: Engine = {
  id: 'heif',
  name: 'libheif',
  role: 'image',
  toolchains: ['image', 'pdf'],
  binaries: {
    ...DECODER,
    ...BESIDE,
    encode: { at: ['/usr/bin/heif-enc'] },
    picture: CONVERT,
  },
  conversions: [
    ...everyPair(['heic', 'avif'], ['png'], { rank: 75 }),
    // Formats with a single picture only; others go through the PNG that their own engines write.
    ...Object.entries(READERS).flatMap(([source, { takes }]) => (takes === 'pages' ? [] : [{ source, target: 'heic', rank: 70 }])),
  ],
  trials: [
    { file: HEIC, target: 'png' },
    { file: PNG, target: 'heic' },
  ],
  options: (_, target) => (target === 'heic' ? [...PICTURE_EDITS, 'img_quality', 'strip_metadata'] : []),
  longestSide: LONGEST_SIDE,
  inspect: {
    step: (input, task) => (decodes(task) ? { run: 'info', args: [input] } : { ...pingStep(input, task), run: 'picture' }),
    read: (stdout, task) => (decodes(task) ? bounded(stdout) : readPing(stdout)),
  },
  plan,
  explain: (output) => {
    // libheif's messages for absurd lengths in `iloc`, and for a picture that its decoder rejects.
    if (/security limit exceeded|decoder plugin generated an error/i.test(output)) return 'corrupt_input';
    // Whatever else it calls unsupported (a way to store an item, a version of a box, a depth) is what the file says.
    return explainImageMagick(output) ?? meaningOf(output, LACKS);
  },
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

export const decodes = ({ source }: Pick<Task, 'source'>): boolean => source === 'heic' || source === 'avif';

/** Reads what heif-info prints. @throws Failure `input_limit`, or `corrupt_input` if the output has no size */
export function bounded(stdout: string): Facts {
  const images = [...stdout.matchAll(/^image: (\d+)x(\d+)(.*)$/gm)];
  const sizes = images.map(([, width, height]) => ({ width: Number(width), height: Number(height) }));
  const primary = Math.max(
    0,
    images.findIndex(([, , , said = '']) => said.includes('primary')),
  );
  const shown = sizes[primary];
  if (shown === undefined) throw conversionFailed('corrupt_input');
  const pixels = sizes.reduce((most, { width, height }) => Math.max(most, width * height), 0);
  if (pixels > MAX_PIXELS) throw inputLimit('pixels', MAX_PIXELS, pixels);
  const frame: Frame = {
    ...shown,
    alpha: /alpha channel: yes/.test(stdout),
    upright: true,
    onItsSide: false,
    profile: /color profile: (prof|rICC)/.test(stdout),
    density: undefined,
  };
  return {
    frames: [frame],
    xmp: /^ {2}XMP: /m.test(stdout),
    exif: /^ {2}Exif: /m.test(stdout),
    ...(images.length > 1 && { place: primary + 1, pictures: images.length }),
  };
}

/** The decoder numbers the files that it writes where the source has several pictures. @returns the path of the one that is meant to be shown */
const decodedTo = (path: string, { place }: Facts): string =>
  place === undefined ? path : path.replace(/\.png$/, `-${String(place)}.png`);

function plan(task: Task): Plan {
  if (task.target === 'png')
    return { steps: decodeUpright(task, `${task.output}/out.png`, 'convert'), warnings: mainPictureOnly(task.facts) };
  return decodes(task) ? overPng(task, encode, 'convert') : encode(task);
}

/** The plan of another engine for the picture that libheif has decoded. @param decoder the engine's binary; it needs `beside`, too */
export const overPng = (task: Task, work: (task: Task) => Plan, decoder = 'heif'): Plan =>
  overDecoded(task, (png) => decodeUpright(task, png, decoder), work);

/** A PNG with the colour profile, EXIF and XMP of the file. The decoder applies its rotation, which EXIF says once more. */
function decodeUpright({ input, scratch, facts }: Task, to: string, decoder: string): readonly ProcessStep[] {
  const [mended, turned] = [`${scratch}/mended.heic`, `${scratch}/turned.png`];
  return [
    { run: 'beside', args: ['mend', input, mended] },
    { run: decoder, args: [mended, turned] },
    { run: 'beside', args: ['tell', input, decodedTo(turned, facts), to] },
  ];
}

/**
 * libheif's own preset of x265, `slow`, takes 3.2 s of CPU for a megapixel of noise: 50 megapixels would come near the time that a job has on two
 * cores. `fast` takes 1.2 s, for 1.5 % more bytes and 0.1 dB less (x265 3.5).
 */
const LARGE_PIXELS = 16_000_000;
const presetFor = ({ width, height }: { readonly width: number; readonly height: number }): readonly string[] =>
  width * height > LARGE_PIXELS ? ['-p', 'preset=fast'] : [];

/** The picture between two programs is read once: ImageMagick's own compression takes five times as much CPU, and saves nothing of a photo. */
const QUICKLY = ['-define', 'png:compression-level=1', '-define', 'png:compression-filter=0'];

/** Encodes via a PNG without a palette, since heif-enc 1.15 misreads palettes. HEIC keeps 10 bits a colour where there are more than 8. */
function encode(task: Task): Plan {
  const { facts, options, output, scratch } = task;
  const { indices, warnings } = pick(task, undefined);
  const { args, alpha, ...size } = readAndEdit(task, indices);
  const isDeep = framesOf(facts)[indices[0] ?? 0]?.shallow === false;
  const picture = `${scratch}/picture.png`;
  const strip = options.strip_metadata ? STRIP : [];
  const quality = ['-q', `${options.img_quality ?? 80}`, ...presetFor(size)];
  const [depth, coder] = isDeep ? ['16', alpha ? 'png64' : 'png48'] : ['8', alpha ? 'png32' : 'png24'];
  return {
    warnings,
    needs: needOf('heic', { ...size, alpha }),
    steps: [
      { run: 'picture', args: [...args, ...strip, '-depth', depth, ...QUICKLY, `${coder}:${picture}`] },
      { run: 'encode', args: [...quality, ...(isDeep ? ['-b', '10'] : []), '-o', `${output}/out.heic`, picture] },
    ],
  };
}
