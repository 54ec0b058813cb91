/** Makes an animation from pictures: each becomes a frame of the first one's size, and all share one palette. */
import { conversionFailed, inputLimit } from '../../../../../errors.ts';
import { MAX_SIDE } from '../../../../bounds.ts';
import type { Plan, ProcessStep } from '../../../../engine.ts';
import { orientationOf } from '../../../../planning/pictures/png.ts';
import type { ToolSource } from '../../../../tool.ts';
import { command, ONE_PICTURE } from '../command.ts';
import { mediaOf, type VideoStream } from '../streams.ts';
import { progressOf } from '../timeline.ts';

interface Order {
  readonly sources: readonly ToolSource[];
  /** Frames per second. */
  readonly fps: number;
  /** px. */
  readonly width: number;
  readonly output: string;
  readonly scratch: string;
}

/** @throws Failure `corrupt_input` if a file has no picture, `input_limit` if the frames would be too tall */
export function planFrames({ sources, fps, width, output, scratch }: Order): Plan {
  const [first] = sources;
  if (first === undefined) throw conversionFailed('no_stream');
  const sides = sidesOf(first);
  const height = Math.max(1, Math.round((width * sides.height) / sides.width));
  if (height > MAX_SIDE) throw inputLimit('side in pixels', MAX_SIDE, height);
  const palette = `${scratch}/palette.png`;
  const task = { source: 'image2', input: `${scratch.replaceAll('%', '%%')}/frame-%03d.png` };
  const timeline = { args: ['-framerate', `${fps}`], progress: progressOf(sources.length / fps) };
  return {
    steps: [
      ...sources.map((source, place) => frame(source, { width, height }, `${scratch}/frame-${String(place).padStart(3, '0')}.png`)),
      command({ task, timeline, encode: ['-vf', 'palettegen', ...ONE_PICTURE], to: palette }),
      command({
        task,
        timeline,
        inputs: ['-f', 'png_pipe', '-i', palette],
        encode: ['-lavfi', '[0:v][1:v]paletteuse=dither=bayer:bayer_scale=4', '-f', 'gif'],
        to: `${output}/out.gif`,
      }),
    ],
  };
}

/** Filters for the orientations of EXIF from 2 on, as FFmpeg does not read them in a PNG. */
const TURNS = ['hflip', 'hflip,vflip', 'vflip', 'transpose=cclock_flip', 'transpose=clock', 'transpose=clock_flip', 'transpose=cclock'];

/** The sides as displayed, after rotation. */
function sidesOf({ facts }: ToolSource): Pick<VideoStream, 'width' | 'height'> {
  const stream = mediaOf(facts).video[0];
  if (stream === undefined) throw conversionFailed('corrupt_input');
  const { width, height, upended } = stream;
  const orientation = orientationOf(facts);
  return (orientation === undefined ? upended : orientation >= 5) ? { width: height, height: width } : { width, height };
}

/** Fits the picture into the frame, with transparency on white. */
function frame(source: ToolSource, { width, height }: Pick<VideoStream, 'width' | 'height'>, to: string): ProcessStep {
  const sides = sidesOf(source);
  const scale = Math.min(width / sides.width, height / sides.height);
  const [wide, high] = [Math.max(1, Math.round(sides.width * scale)), Math.max(1, Math.round(sides.height * scale))];
  const orientation = orientationOf(source.facts);
  const turn = TURNS[(orientation ?? 1) - 2];
  const filter = [
    // `drawbox` on a split frame would be shorter, and crashes FFmpeg 5.1.
    `color=white:s=${wide}x${high}:r=1[white]`,
    `[0:v]${turn === undefined ? '' : `${turn},`}format=rgba,scale=${wide}:${high}:flags=lanczos,setsar=1[ink]`,
    `[white][ink]overlay=format=rgb,format=rgb24,pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2:black`,
  ].join(';');
  return command({
    task: { source: source.format, input: source.path },
    // Not `-err_detect explode`: it would also detect truncated JPEGs, but refuses every TIFF with an orientation.
    timeline: { args: ['-xerror', ...(orientation === undefined ? [] : ['-noautorotate'])], progress: () => undefined },
    encode: ['-filter_complex', filter, ...ONE_PICTURE],
    to,
  });
}
