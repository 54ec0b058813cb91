/** Draws one of a film's subtitles into its frames: text by libass, pictures as they are. */
import type { ProcessStep, Task } from '../../../engine.ts';
import { command } from './command.ts';
import { TEXT_SUBTITLES } from './containers.ts';
import { noTrack } from './sound.ts';
import { type Common, mediaOf, shownSize, type VideoStream } from './streams.ts';
import type { Timeline } from './timeline.ts';

export interface Burnt {
  readonly track: Common;
  /** What has to run before. */
  readonly steps: readonly ProcessStep[];
  /** Filters behind those that give the frames their size and colours; none where it has pictures. */
  readonly text: readonly string[];
}

/** @throws Failure `INVALID_OPTION` where the recording has fewer subtitles */
export function burnt(task: Task, time: Timeline, picture: VideoStream): Burnt | undefined {
  const { options, scratch, facts } = task;
  const { burn_subtitles: asked, start_time: start = 0 } = options;
  if (asked === undefined) return undefined;
  const { subtitles } = mediaOf(facts);
  const track = subtitles[asked - 1];
  if (track === undefined) throw noTrack('burn_subtitles', asked, 'subtitle', subtitles.length);
  if (!TEXT_SUBTITLES.has(track.codec)) return { track, steps: [], text: [] };
  const script = `${scratch}/subtitles.ass`;
  const { width, height } = shownSize(picture);
  const drawn = `ass=filename=${escaped(script)}:original_size=${width}x${height}`;
  // Where the reader seeks, time begins at the start, and what began before would be missing in a part of the subtitles.
  const isShifted = start > 0 && time.late !== true;
  return {
    track,
    steps: [
      command({
        task,
        timeline: { args: [], progress: () => undefined },
        encode: ['-map', `0:${track.index}`, '-c:s', 'ass', '-f', 'ass'],
        to: script,
      }),
    ],
    text: isShifted ? [`setpts=PTS+${start}/TB`, drawn, `setpts=PTS-${start}/TB`] : [drawn],
  };
}

/** Filters that lay the pictures of a track on the frames; both are read from the source. @param before filters of the frames @param after those behind */
export function overlaid(picture: VideoStream, { track }: Burnt, before: readonly string[], after: readonly string[]): string {
  const { width, height, upended } = picture;
  const sides = upended ? `${height}:${width}` : `${width}:${height}`;
  return [
    `[0:${picture.index}]${['null', ...before].join(',')}[film]`,
    `[0:${track.index}]scale=${sides}[words]`,
    `[film][words]${['overlay=eof_action=pass:format=auto', ...after].join(',')}[burnt]`,
  ].join(';');
}

/** A value in a description of filters, which is read twice (ffmpeg-filters, "Notes on filtergraph escaping"). */
const escaped = (path: string): string => path.replaceAll(/[\\':]/g, '\\$&').replaceAll(/[\\'[\],;]/g, '\\$&');
