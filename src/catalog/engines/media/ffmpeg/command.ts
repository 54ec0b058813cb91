/** Builds every FFmpeg command: input, mapping, tags and progress. */
import type { EngineWarning, ProcessStep, Task } from '../../../engine.ts';
import { DEMUXERS } from './containers.ts';
import { demuxerArguments } from './probe.ts';
import type { Timeline } from './timeline.ts';

/** Encoder threads of one conversion. */
export const THREADS = '2';

/** One frame, as a picture. */
export const ONE_PICTURE = ['-frames:v', '1', '-f', 'image2', '-update', '1'] as const;

interface CommandOptions {
  readonly task: Pick<Task, 'source' | 'input'> & Partial<Pick<Task, 'facts'>>;
  readonly timeline: Pick<Timeline, 'args' | 'late' | 'progress'>;
  /** Options of the input. */
  readonly decode?: readonly string[];
  /** Further inputs, each already with its options. */
  readonly inputs?: readonly string[];
  readonly encode: readonly string[];
  /** It says on standard error what its filters have found. */
  readonly says?: true;
  /** No stream of the result may be empty. */
  readonly full?: true;
  /** Absolute path, or a name in the output folder. */
  readonly to: string;
}

export function command({ task, timeline, decode = [], inputs = [], encode, says, full, to }: CommandOptions): ProcessStep {
  return {
    run: 'ffmpeg',
    args: [
      ...['-nostdin', '-hide_banner', '-y', '-v', says ? 'info' : 'error', '-progress', 'pipe:1', '-nostats'],
      // Without it, FFmpeg would succeed with an empty file if there is no packet at all.
      ...['-abort_on', full ? 'empty_output+empty_output_stream' : 'empty_output'],
      // Program and transport streams and AVI have gaps in their timestamps, which a copy would keep.
      ...(GAPPY.has(task.source) ? ['-fflags', '+genpts'] : []),
      // The half packet at which a file was cut is no sound.
      ...(full && DEMUXERS[task.source] === 'mov' ? ['-fflags', '+discardcorrupt'] : []),
      ...demuxerArguments(task.source),
      ...(timeline.late ? [] : timeline.args),
      // Version 7.1's own decoder makes a recording twice as long.
      ...(task.source === 'spx' ? ['-c:a', 'libspeex'] : []),
      // FFmpeg would take them for floats.
      ...(task.facts?.['leftJustified'] === true ? ['-c:a', 'pcm_s32le'] : []),
      ...decode,
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

const GAPPY = new Set(['avi', 'mpg', 'ts', 'm2ts', 'gxf']);

/** Ogg keeps titles in each stream, and other formats for the whole file. */
const TAGGED_STREAMS = new Set(['ogg', 'opus', 'spx', 'ogv']);

/** `strip_metadata` removes titles, dates, places and chapters. @param stream index of the one that the result is mainly made of */
export const tags = (source: string, stream: number, strip: boolean | undefined): readonly string[] =>
  strip
    ? ['-map_metadata', '-1', '-map_chapters', '-1']
    : ['-map_metadata', '0', ...(TAGGED_STREAMS.has(source) ? ['-map_metadata', `0:s:${stream}`] : [])];

export function dropped(streams: number): readonly EngineWarning[] {
  if (streams < 1) return [];
  return [{ code: 'streams_dropped', message: `The result does not contain ${streams} of the streams of the source.` }];
}
