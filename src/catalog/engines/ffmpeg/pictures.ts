/** Extracts pictures from a video: one frame, or an animation. */
import { conversionFailed, inputLimit } from '../../../errors.ts';
import type { Plan, Task } from '../../engine.ts';
import type { OptionName, Options } from '../../options/options.ts';
import { command, tags } from './command.ts';
import { mediaOf, uprightAspect } from './streams.ts';
import { timeline } from './timeline.ts';

/** Longest animation, seconds. */
export const MAX_GIF_SECONDS = 60;
const GIF_FPS = 10;
/** Default for the largest width, px. */
const GIF_WIDTH = 480;

export const STILLS = ['png', 'jpg', 'webp'] as const;

const STILL_ENCODERS: Readonly<Record<string, (quality: number) => readonly string[]>> = {
  png: () => ['-c:v', 'png'],
  // MJPEG's quality goes from 2 (best) to 31.
  jpg: (quality) => ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', `${Math.round(31 - (quality * 29) / 100)}`],
  webp: (quality) => ['-c:v', 'libwebp', '-quality', `${quality}`],
};

export const pictureOptions = (target: string): readonly OptionName[] =>
  target === 'gif' || target === 'apng'
    ? ['video_width', 'video_height', 'video_fps', 'start_time', 'end_time']
    : target === 'png'
      ? ['start_time']
      : ['start_time', 'img_quality'];

/** In so many seconds at the end no new frame may begin: the last one is used then. */
const TAIL_SECONDS = 2;

/** The frame at `start_time`. @throws Failure `no_stream` without video */
export function planStill(task: Task): Plan {
  const { target, options, output } = task;
  const picture = firstVideo(task);
  const { index, fps } = picture;
  const time = timeline({ ...task, options: { ...options, end_time: undefined } });
  const { start_time: start = 0 } = options;
  const inTail = fps > 0 && start > 0 && time.seconds !== undefined && time.seconds < TAIL_SECONDS;
  const from = inTail ? Math.max(0, start - TAIL_SECONDS) : start;
  const aspect = uprightAspect(picture);
  const filters = [
    ...(inTail ? [`tpad=stop_mode=clone:stop_duration=${TAIL_SECONDS},trim=start=${(start - from).toFixed(3)}`] : []),
    ...(aspect === 1 ? [] : [`scale=round(iw*${aspect}):ih,setsar=1`]),
  ];
  const encode = [
    ...(filters.length === 0 ? [] : ['-vf', filters.join(',')]),
    ...['-map', `0:${index}`, '-frames:v', '1', '-f', 'image2', '-update', '1'],
    ...tags(task.source, index, options.strip_metadata),
    ...(STILL_ENCODERS[target]?.(options.img_quality ?? 80) ?? []),
  ];
  return {
    warnings: time.warnings,
    steps: [
      command({
        task,
        timeline: { ...time, args: from > 0 ? ['-ss', `${from}`] : [], progress: () => undefined },
        encode,
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/**
 * Reads the video twice, first for the palette: in a single pass all frames would wait in memory for it.
 * @throws Failure `no_stream` without video, `input_limit` above a minute
 */
export function planGif(task: Task): Plan {
  const { options, scratch, output } = task;
  const picture = firstVideo(task);
  const { index } = picture;
  const time = timeline(task);
  if ((time.seconds ?? 0) > MAX_GIF_SECONDS) throw inputLimit('seconds of animation', MAX_GIF_SECONDS, Math.ceil(time.seconds ?? 0));
  const palette = `${scratch}/palette.png`;
  const frames = `fps=${Math.min(50, options.video_fps ?? GIF_FPS)},${size(options, uprightAspect(picture))}`;
  const silent = mediaOf(task.facts).audio.length === 0;
  const sound = { code: 'lossy', message: `This conversion from ${task.source} does not keep: sound.` };
  return {
    warnings: [...time.warnings, ...(silent ? [] : [sound])],
    steps: [
      command({
        task,
        timeline: time,
        // The palette of all pixels: counting only those that change would drop the colours of a still scene.
        encode: ['-map', `0:${index}`, '-vf', `${frames},palettegen`, '-frames:v', '1', '-f', 'image2', '-update', '1'],
        to: palette,
      }),
      command({
        task,
        timeline: time,
        inputs: ['-f', 'png_pipe', '-i', palette],
        // `-t` applies the bound even if the length is unknown.
        encode: [
          '-lavfi',
          `[0:${index}]${frames}[f];[f][1:v]paletteuse=dither=bayer:bayer_scale=4`,
          '-t',
          `${MAX_GIF_SECONDS}`,
          '-f',
          'gif',
        ],
        to: `${output}/out.gif`,
      }),
    ],
  };
}

/** The same bounds as for GIF, without its colours: frames are kept as they are. @throws as `planGif` */
export function planApng(task: Task): Plan {
  const { source, target, options, output } = task;
  const picture = firstVideo(task);
  const time = timeline(task);
  if ((time.seconds ?? 0) > MAX_GIF_SECONDS) throw inputLimit('seconds of animation', MAX_GIF_SECONDS, Math.ceil(time.seconds ?? 0));
  const rate = source === 'gif' && options.video_fps === undefined ? '' : `fps=${Math.min(50, options.video_fps ?? GIF_FPS)},`;
  const frames = `${rate}${size(options, uprightAspect(picture))},format=${source === 'gif' ? 'rgba' : 'rgb24'}`;
  const sound = { code: 'lossy', message: `This conversion from ${source} does not keep: sound.` };
  return {
    warnings: [...time.warnings, ...(mediaOf(task.facts).audio.length === 0 ? [] : [sound])],
    steps: [
      command({
        task,
        timeline: time,
        encode: ['-map', `0:${picture.index}`, '-vf', frames, '-t', `${MAX_GIF_SECONDS}`, '-c:v', 'apng', '-plays', '0', '-f', 'apng'],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

function firstVideo({ facts }: Task) {
  const stream = mediaOf(facts).video[0];
  if (stream === undefined) throw conversionFailed('no_stream');
  return stream;
}

/** In square pixels, since browsers ignore any other shape that a GIF states. @param aspect width of a source's pixel over its height */
function size({ video_width: width, video_height: height }: Options, aspect: number): string {
  const square = aspect === 1 ? '' : `scale=round(iw*${aspect}):ih:flags=lanczos,setsar=1,`;
  if (width === undefined && height === undefined) return `${square}scale=min(${GIF_WIDTH}\\,iw):-1:flags=lanczos`;
  return `${square}scale=${width ?? -1}:${height ?? -1}:flags=lanczos`;
}
