/** The requested part of a recording, and the progress of a running command. */
import { misfit } from '../../../../errors.ts';
import type { EngineWarning, Task } from '../../../engine.ts';
import { UNTIMED } from './containers.ts';
import { mediaOf } from './streams.ts';

export interface Timeline {
  /** Arguments that seek to the start; where streams are encoded, the cut is exact. */
  readonly args: readonly string[];
  /** The arguments follow the input, which is read from its beginning, because seeking would miss the start. */
  readonly late?: boolean;
  readonly cut: boolean;
  /** Seconds of the result; undefined if the source does not state its length. */
  readonly seconds: number | undefined;
  readonly warnings: readonly EngineWarning[];
  readonly progress: (line: string) => number | undefined;
}

/** Formats without an index: FFmpeg seeks by estimate, past the start, or to a frame that needs an earlier one. */
const MISSES = new Set(['mpg', 'ts', 'm2ts', 'ogv', ...UNTIMED]);

/** @throws Failure `INVALID_OPTION` if the start lies behind the end of the recording */
export function timeline({ source, options, facts }: Pick<Task, 'source' | 'options' | 'facts'>): Timeline {
  const { duration } = mediaOf(facts);
  const { start_time: start = 0, end_time: end } = options;
  if (duration !== undefined && duration > 0 && start >= duration && start > 0)
    throw misfit({
      option: 'start_time',
      received: `${start}`,
      allowed: `less than ${duration} seconds for this recording`,
      says: `The recording is ${duration} seconds long; start_time is ${start} seconds.`,
    });
  const past = end !== undefined && duration !== undefined && end > duration;
  const last = end === undefined || past ? duration : end;
  const seconds = last === undefined ? undefined : last - start;
  return {
    args: [...(start > 0 ? ['-ss', `${start}`] : []), ...(end === undefined || past ? [] : ['-t', `${end - start}`])],
    late: MISSES.has(source),
    cut: start > 0 || (end !== undefined && !past),
    seconds,
    warnings: past ? [{ code: 'end_past_end', message: `The recording ends after ${duration} seconds: end_time is after its end.` }] : [],
    progress: progressOf(seconds),
  };
}

/** Reads the progress that `-progress` prints. @param seconds of the result */
export const progressOf =
  (seconds: number | undefined) =>
  (line: string): number | undefined => {
    const match = /^out_time_us=(\d+)$/.exec(line.trim());
    return match === null || seconds === undefined || seconds <= 0 ? undefined : Math.min(1, Number(match[1]) / 1e6 / seconds);
  };
