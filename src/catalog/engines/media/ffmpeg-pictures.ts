/** FFmpeg: pictures that no other engine reads or writes. */
import { conversionFailed } from '../../../errors.ts';
import { type Engine, everyPair, type ProcessStep, type Step, type Task } from '../../engine.ts';
import { PNG } from '../../known-good.ts';
import { PICTURE_EDITS } from '../../options/options.ts';
import { pictureOf } from '../../planning/headers/picture.ts';
import { orientationOf } from '../../planning/pictures/png.ts';
import { talk, VIPS } from '../pictures/sharp.ts';
import { command, ONE_PICTURE, tags } from './ffmpeg/command.ts';
import { explainFfmpeg } from './ffmpeg/explain.ts';
import { probePicture, readProbe } from './ffmpeg/probe.ts';
import { mediaOf } from './ffmpeg/streams.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

/** Both ends are red, green and blue with the primaries of sRGB. */
const SPACE = 'pin=bt709:p=bt709:min=gbr:m=gbr';

/** Filters that make sRGB of what it reads. @param pixels as FFmpeg names what its decoder gives */
const READS: Readonly<Record<string, (pixels: string) => readonly string[]>> = {
  // Linear light, with opacity multiplied in.
  exr: (pixels) => {
    // FFmpeg 5.1 makes green of grey floats.
    if (pixels === 'grayf32le')
      throw conversionFailed('unsupported_variant', { says: 'OpenEXR pictures of grey alone are not converted.' });
    const opaque = pixels !== 'gbrapf32le';
    return [
      ...(opaque ? [] : ['unpremultiply=inplace=1']),
      // zscale would write opacity as video does, from 16 to 235.
      ...[`zscale=tin=linear:t=iec61966-2-1:${SPACE}`, `format=${pixels}`, `format=${opaque ? 'rgb48le' : 'rgba64le'}`],
    ];
  },
  qoi: () => ['format=rgba'],
};

/** What is made of that. Without transparency, the picture is laid on white. */
const COMMON: Readonly<Record<string, { readonly encode: readonly string[]; readonly alpha?: true }>> = {
  png: { encode: ['-c:v', 'png'], alpha: true },
  jpg: { encode: ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', '4'] },
  webp: { encode: ['-c:v', 'libwebp', '-quality', '80'], alpha: true },
};

/** What it writes, of a PNG in sRGB. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  qoi: ['-c:v', 'qoi'],
  jls: ['-c:v', 'jpegls'],
  exr: [
    ...['-vf', `format=gbrp16le,zscale=tin=iec61966-2-1:t=linear:${SPACE},format=gbrpf32le`],
    ...['-c:v', 'exr', '-compression', 'zip16'],
  ],
};

export const engine: Engine = {
  id: 'ffmpeg-pictures',
  name: 'FFmpeg',
  role: 'audio_video',
  toolchains: ['media'],
  binaries: { ...ffmpeg.binaries, vips: VIPS },
  conversions: [
    ...everyPair(Object.keys(READS), Object.keys(COMMON), { rank: 70 }),
    // Below what a chain may have: no frame of a video is wanted in them.
    ...everyPair(Object.keys(COMMON), ['qoi'], { rank: 49 }),
    ...everyPair(Object.keys(COMMON), ['jls'], { rank: 49, loses: ['transparency', 'colours of more than 8 bits'] }),
    ...everyPair(Object.keys(COMMON), ['exr'], { rank: 49, loses: ['transparency'] }),
  ],
  trials: [{ file: PNG, target: 'qoi' }],
  options: (source, target) =>
    source in READS ? ['strip_metadata'] : [...PICTURE_EDITS, 'strip_metadata', ...(target === 'qoi' ? [] : (['background'] as const))],
  // libvips inspects what it opens itself.
  inspect: { sources: new Set(Object.keys(READS)), step: probePicture, read: readProbe },
  plan: (task) => ({ steps: task.source in READS ? read(task) : write(task) }),
  // More pixels than FFmpeg counts; a side of nothing is damage.
  explain: (output) => (/Picture size \d{4,10}x\d{4,10} is invalid/.test(output) ? 'input_limit' : explainFfmpeg(output)),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** Half a picture is none. */
const WHOLE = { args: ['-xerror'], progress: () => undefined };

/** The inspection found no picture, and succeeded all the same: decoding says whether it is damaged, or too large to be opened. */
const whyNone = (task: Task): ProcessStep =>
  command({ task, timeline: WHOLE, encode: ['-map', '0:v:0', '-frames:v', '1', '-f', 'null'], to: '-' });

function read(task: Task): Step[] {
  const { source, target, options, output } = task;
  const writer = COMMON[target];
  const picture = mediaOf(task.facts).video[0];
  if (writer === undefined) throw conversionFailed('corrupt_input');
  if (picture === undefined) return [whyNone(task)];
  const { index, width, height, pixels } = picture;
  const shown = `[0:${index}]${(READS[source]?.(pixels) ?? []).join(',')}`;
  const white = `format=rgba[ink];color=white:s=${width}x${height}:r=1[white];[white][ink]overlay=format=rgb,format=rgb24`;
  return [
    command({
      task,
      timeline: WHOLE,
      encode: [
        ...['-filter_complex', writer.alpha ? shown : `${shown},${white}`, ...ONE_PICTURE],
        ...tags(source, index, options.strip_metadata),
        ...writer.encode,
      ],
      to: `${output}/out.${target}`,
    }),
  ];
}

/** FFmpeg knows neither colour profiles nor inks: libvips makes sRGB of the picture, upright, and edits it. */
function write({ source, target, options, input, scratch, output, facts }: Task): Step[] {
  const folder = `${scratch}/plain`;
  const plain = `${folder}/plain.png`;
  return [
    {
      ...talk({ source, target, options, input, output: plain, orientation: orientationOf(facts), gamma: pictureOf(facts)?.gamma }),
      output: folder,
    },
    command({
      task: { source: 'png', input: plain },
      timeline: WHOLE,
      encode: [...ONE_PICTURE, ...(WRITES[target] ?? [])],
      to: `${output}/out.${target}`,
    }),
  ];
}
