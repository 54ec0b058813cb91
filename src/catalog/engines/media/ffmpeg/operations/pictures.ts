/** Extracts pictures from a video: one frame, or an animation. */
import { conversionFailed, inputLimit } from '../../../../../errors.ts';
import { WEBP_MAX_SIDE } from '../../../../bounds.ts';
import type { Plan, Task } from '../../../../engine.ts';
import type { OptionName, Options } from '../../../../options/options.ts';
import { pictureOf } from '../../../../planning/headers/picture.ts';
import { asPicture, decoded, decoderArguments, FRAME_OPTIONS, flattened, hasAlpha, onWhite } from '../colours.ts';
import { command, ONE_PICTURE, tags } from '../command.ts';
import { ANIMATIONS } from '../containers.ts';
import { mediaOf, uprightAspect, type VideoStream } from '../streams.ts';
import { timeline } from '../timeline.ts';
import { fitted } from '../video.ts';

/** Longest animation, seconds. */
export const MAX_GIF_SECONDS = 60;
const GIF_FPS = 10;
/** Browsers show no frame for less than a hundredth of a second. */
const MAX_RATE = 100;
/** Default for the largest width, px. */
const GIF_WIDTH = 480;

export const STILLS = ['png', 'jpg', 'webp'] as const;

const STILL_ENCODERS: Readonly<Record<string, (quality: number) => readonly string[]>> = {
  png: () => ['-c:v', 'png'],
  // MJPEG's quality goes from 2 (best) to 31.
  jpg: (quality) => ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', `${Math.round(31 - (quality * 29) / 100)}`],
  webp: (quality) => ['-c:v', 'libwebp', '-quality', `${quality}`],
};

const ANIMATION_OPTIONS = ['video_width', 'video_height', 'fit', 'video_fps', 'start_time', 'end_time'] as const;

export function pictureOptions(source: string, target: string): readonly OptionName[] {
  const quality = target === 'jpg' || target === 'webp' ? (['img_quality'] as const) : [];
  if (ANIMATIONS.has(source)) return [...ANIMATION_OPTIONS, ...quality];
  return [...(ANIMATIONS.has(target) ? ANIMATION_OPTIONS : (['start_time'] as const)), ...quality, ...FRAME_OPTIONS];
}

/** Pixels that each picture is made of: a JPEG and a WebP have another matrix than most films, and no encoder converts it. */
const PIXELS: Readonly<Record<string, string>> = { png: 'rgb24|rgba|rgb48be|rgba64be', jpg: 'rgb24', webp: 'bgra' };

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
    ...decoded(picture, options),
    ...(inTail ? [`tpad=stop_mode=clone:stop_duration=${TAIL_SECONDS},trim=start=${(start - from).toFixed(3)}`] : []),
    ...(aspect === 1 ? [] : [`scale=round(iw*${aspect}):ih,setsar=1`]),
    ...(target === 'jpg' ? onWhite(picture) : []),
    ...asPicture(picture, options, target, PIXELS[target] ?? 'rgb24'),
  ];
  const encode = [
    ...['-vf', filters.join(',')],
    ...['-map', `0:${index}`, ...ONE_PICTURE],
    ...tags(task.source, index, options.strip_metadata),
    ...(STILL_ENCODERS[target]?.(options.img_quality ?? 80) ?? []),
  ];
  return {
    warnings: [...time.warnings, ...(target === 'jpg' ? flattened(picture, task.source) : [])],
    steps: [
      command({
        task,
        decode: decoderArguments(picture),
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
  const { scratch, output } = task;
  const { index, time, decode, frames, held, loops, warnings } = animated(task);
  const palette = `${scratch}/palette.png`;
  return {
    warnings,
    steps: [
      command({
        task,
        decode,
        timeline: time,
        // The palette of all pixels: counting only those that change would drop the colours of a still scene.
        encode: ['-map', `0:${index}`, '-vf', `${frames},palettegen`, ...ONE_PICTURE],
        to: palette,
      }),
      command({
        task,
        decode,
        timeline: time,
        inputs: ['-f', 'png_pipe', '-i', palette],
        // `-t` applies the bound even if the length is unknown.
        encode: [
          ...['-lavfi', `[0:${index}]${frames}[f];[f][1:v]paletteuse=dither=bayer:bayer_scale=4`],
          ...['-t', `${MAX_GIF_SECONDS}`, '-f', 'gif', '-loop', `${repetitions(loops)}`],
          // In hundredths of a second.
          ...(held === undefined ? [] : ['-enc_time_base', '1:100', '-final_delay', `${Math.max(2, Math.round(held * 100))}`]),
        ],
        to: `${output}/out.gif`,
      }),
    ],
  };
}

/** How an animation runs. */
interface Runs {
  /** Seconds that the last frame is shown, where frames keep their times. */
  readonly held: number | undefined;
  /** How often it runs, 0 for ever. */
  readonly loops: number;
}

/** A GIF counts what comes after the first run, 0 for ever; FFmpeg takes -1 for none. */
const repetitions = (loops: number): number => (loops === 0 ? 0 : loops === 1 ? -1 : loops - 1);

interface AnimationWriter {
  readonly encode: (options: Options, runs: Runs) => readonly string[];
  /** px */
  readonly longest?: number;
  /** It joins equal frames: repeated, the last one is shown as long as before. */
  readonly joins?: true;
}

/** Animations that hold all colours. */
const WRITERS: Readonly<Record<string, AnimationWriter>> = {
  apng: {
    encode: (_, { held, loops }) => [
      ...['-c:v', 'apng', '-plays', `${loops}`, '-f', 'apng'],
      ...(held === undefined ? [] : ['-enc_time_base', '1:1000', '-final_delay', `${Math.round(held * 1000)}/1000`]),
    ],
  },
  webp: {
    encode: ({ img_quality: quality = 80 }, { loops }) => [
      ...['-c:v', 'libwebp_anim', '-quality', `${quality}`, '-loop', `${loops}`, '-f', 'webp'],
    ],
    longest: WEBP_MAX_SIDE,
    joins: true,
  },
};

/** An APNG, or an animated WebP, with the same bounds as a GIF. @throws as `planGif` */
export function planAnimation(task: Task): Plan {
  const { target, options, output } = task;
  const { index, time, decode, frames, held, loops, warnings } = animated(task);
  const encoder = WRITERS[target]?.encode(options, { held, loops }) ?? [];
  return {
    warnings,
    steps: [
      command({
        task,
        decode,
        timeline: time,
        encode: ['-map', `0:${index}`, '-vf', frames, '-t', `${MAX_GIF_SECONDS}`, ...encoder],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/**
 * What an animation is made of: the frames of another one as they are, of a video so many a second, and smaller.
 * @throws Failure `no_stream` without video, `input_limit` above a minute
 */
function animated(task: Task) {
  const { source, target, options, facts } = task;
  const picture = firstVideo(task);
  const { index, shown } = picture;
  const { longest, joins } = WRITERS[target] ?? {};
  if (longest !== undefined) refuseLonger(longest, picture, task);
  const time = timeline(task);
  if ((time.seconds ?? 0) > MAX_GIF_SECONDS) throw inputLimit('seconds of animation', MAX_GIF_SECONDS, Math.ceil(time.seconds ?? 0));
  const { audio } = mediaOf(facts);
  const moves = ANIMATIONS.has(source);
  const keepsFrames = moves && options.video_fps === undefined;
  const rate = keepsFrames ? Math.min(MAX_RATE, shown?.rate ?? (picture.fps || 1)) : Math.min(50, options.video_fps ?? GIF_FPS);
  const resampled = keepsFrames && !joins ? [] : [`fps=${rate}`];
  const sized = size(options, uprightAspect(picture), moves);
  const isClear = moves || hasAlpha(picture);
  const sound = { code: 'lossy', message: `This conversion from ${source} does not keep: sound.` };
  return {
    ...{ index, time },
    decode: decoderArguments(picture),
    frames: [...decoded(picture, options), ...resampled, sized, ...asPicture(picture, options, target, isClear ? 'rgba' : 'rgb24')].join(
      ',',
    ),
    held: keepsFrames && shown !== undefined ? lastShown(shown.times, options.end_time) : undefined,
    // A video, which runs once, runs for ever as a picture.
    loops: pictureOf(facts)?.loops ?? 0,
    warnings: [...time.warnings, ...(audio.length === 0 ? [] : [sound])],
  };
}

/** Seconds that the last frame is shown. @param end where the animation is cut */
function lastShown(times: readonly number[], end = Number.POSITIVE_INFINITY): number {
  let [start, last] = [0, 0];
  for (const time of times) {
    if (start >= end) break;
    last = Math.min(time, end - start);
    start += time;
  }
  return last;
}

/** @throws Failure `input_limit` for a side that the target has no room for */
function refuseLonger(longest: number, { width, height }: VideoStream, { target, options }: Task): void {
  const side = options.video_width === undefined && options.video_height === undefined ? Math.max(width, height) : 0;
  if (side > longest) throw inputLimit(`side of ${target}`, longest, side);
}

function firstVideo({ facts }: Task) {
  const stream = mediaOf(facts).video[0];
  if (stream === undefined) throw conversionFailed('no_stream');
  return stream;
}

/**
 * In square pixels, since browsers ignore any other shape that a GIF states.
 * @param aspect width of a source's pixel over its height
 * @param whole keeps the size of the source where the options name none
 */
function size({ video_width: width, video_height: height, fit = 'fill' }: Options, aspect: number, whole: boolean): string {
  const square = aspect === 1 ? '' : `scale=round(iw*${aspect}):ih:flags=lanczos,setsar=1,`;
  if (width === undefined && height === undefined) return `${square}scale=${whole ? 'iw' : `min(${GIF_WIDTH}\\,iw)`}:-1:flags=lanczos`;
  if (width !== undefined && height !== undefined && fit !== 'fill') return `${square}${fitted(fit, width, height)}`;
  return `${square}scale=${width ?? -1}:${height ?? -1}:flags=lanczos`;
}
