/** The frame of every FFmpeg command: how it reads, maps, tags and reports. */
import type { ProcessStep, Task, Warning } from '../../engine.ts';
import { readArguments } from './probe.ts';
import type { Timeline } from './timeline.ts';

/** Encoder threads: what a converter may use of a machine. */
export const THREADS = '2';

interface Parts {
  readonly task: Pick<Task, 'source' | 'input'>;
  readonly timeline: Pick<Timeline, 'args' | 'late' | 'progress'>;
  /** Further inputs, each already with its options. */
  readonly inputs?: readonly string[];
  readonly encode: readonly string[];
  /** Absolute path, or a name in the output folder. */
  readonly to: string;
}

export function command({ task, timeline, inputs = [], encode, to }: Parts): ProcessStep {
  return {
    run: 'ffmpeg',
    args: [
      ...['-nostdin', '-hide_banner', '-y', '-v', 'error', '-progress', 'pipe:1', '-nostats'],
      // Without a single packet it would write an empty frame of a file and call that a success.
      ...['-abort_on', 'empty_output'],
      // Program and transport streams and AVI carry gaps in their time stamps, which a copy would keep.
      ...(GAPPY.has(task.source) ? ['-fflags', '+genpts'] : []),
      ...readArguments(task.source),
      ...(timeline.late ? [] : timeline.args),
      ...['-i', task.input],
      ...inputs,
      ...(timeline.late ? timeline.args : []),
      ...encode,
      ...['-threads', THREADS, '-max_muxing_queue_size', '4096'],
      to,
    ],
    progress: timeline.progress,
  };
}

const GAPPY = new Set(['avi', 'mpg', 'ts']);

/** Titles, dates, places and chapters go with `strip_metadata`. */
export const tags = (strip: boolean | undefined): readonly string[] =>
  strip ? ['-map_metadata', '-1', '-map_chapters', '-1'] : ['-map_metadata', '0'];

export function dropped(streams: number): readonly Warning[] {
  if (streams < 1) return [];
  return [{ code: 'streams_dropped', message: `The target does not hold ${streams} of the streams of the source: they are left out.` }];
}
