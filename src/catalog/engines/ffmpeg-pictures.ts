/** FFmpeg: pictures that no other engine reads or writes. */
import { conversionFailed } from '../../errors.ts';
import { type Engine, everyPair, type Plan, type ProcessStep, type Task } from '../engine.ts';
import { PNG } from '../known-good.ts';
import { command, tags } from './ffmpeg/command.ts';
import { explain } from './ffmpeg/explain.ts';
import { probePicture, readProbe } from './ffmpeg/probe.ts';
import { mediaOf } from './ffmpeg/streams.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

interface Writer {
  readonly encode: readonly string[];
  /** Keeps transparency; otherwise the picture is laid on white. */
  readonly alpha?: true;
  /** Filters behind that. */
  readonly filters?: string;
}

/** OpenEXR holds linear light: pixels are converted from sRGB, and to it. */
const TO_LINEAR = 'zscale=tin=iec61966-2-1:t=linear:pin=bt709:p=bt709:min=gbr:m=gbr,format=gbrpf32le';
const READS: Readonly<Record<string, readonly string[]>> = { exr: ['-apply_trc', 'iec61966_2_1'], qoi: [] };

const WRITERS: Readonly<Record<string, Writer>> = {
  png: { encode: ['-c:v', 'png'], alpha: true },
  tiff: { encode: ['-c:v', 'tiff', '-compression_algo', 'lzw'], alpha: true },
  jpg: { encode: ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', '4'] },
  webp: { encode: ['-c:v', 'libwebp', '-quality', '80'], alpha: true },
  bmp: { encode: ['-c:v', 'bmp', '-pix_fmt', 'bgr24'] },
  qoi: { encode: ['-c:v', 'qoi'], alpha: true },
  jls: { encode: ['-c:v', 'jpegls'] },
  exr: { encode: ['-c:v', 'exr', '-compression', 'zip16'], filters: TO_LINEAR },
};
const COMMON = ['png', 'tiff', 'jpg', 'webp', 'bmp'];

export const engine: Engine = {
  id: 'ffmpeg-pictures',
  name: 'FFmpeg',
  role: 'audio_video',
  toolchains: ['media'],
  binaries: ffmpeg.binaries,
  conversions: [
    ...everyPair(Object.keys(READS), COMMON, { rank: 70 }),
    // Below what a chain may have: no frame of a video is wanted in them.
    ...everyPair(COMMON, ['qoi'], { rank: 49 }),
    ...everyPair(COMMON, ['jls', 'exr'], { rank: 49, loses: ['transparency', 'more than 8 bits a channel'] }),
  ],
  trials: [{ file: PNG, target: 'qoi' }],
  options: () => ['strip_metadata'],
  inspect: { step: probePicture, read: readProbe },
  plan,
  // More pixels than FFmpeg counts; a side of nothing is damage.
  explain: (output) => (/Picture size \d{4,10}x\d{4,10} is invalid/.test(output) ? 'input_limit' : explain(output)),
  limits: { memoryBytes: 2 * 1024 ** 3 },
};

/** The inspection found no picture, and succeeded all the same: decoding says whether it is damaged, or too large to be opened. */
const whyNone = (task: Task): ProcessStep => {
  const timeline = { args: ['-xerror'], progress: () => undefined };
  return command({ task, timeline, encode: ['-map', '0:v:0', '-frames:v', '1', '-f', 'null'], to: '-' });
};

function plan(task: Task): Plan {
  const { source, target, options, output } = task;
  const writer = WRITERS[target];
  const picture = mediaOf(task.facts).video[0];
  if (writer === undefined) throw conversionFailed('corrupt_input');
  if (picture === undefined) return { steps: [whyNone(task)] };
  const { index, upended } = picture;
  const [width, height] = upended ? [picture.height, picture.width] : [picture.width, picture.height];
  const filters = [
    ...(writer.alpha
      ? []
      : [`[0:${index}]format=rgba[ink];color=white:s=${width}x${height}:r=1[white];[white][ink]overlay=format=rgb,format=rgb24`]),
    ...(writer.filters === undefined ? [] : [writer.filters]),
  ];
  return {
    steps: [
      command({
        task,
        // Half a picture is none.
        timeline: { args: ['-xerror', ...(READS[source] ?? [])], progress: () => undefined },
        encode: [
          ...(filters.length === 0 ? ['-map', `0:${index}`] : ['-filter_complex', filters.join(',')]),
          ...['-frames:v', '1', '-f', 'image2', '-update', '1'],
          ...tags(source, index, options.strip_metadata),
          ...writer.encode,
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}
