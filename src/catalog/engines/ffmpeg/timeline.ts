/** Which stretch of a recording is wanted, and how far a running command is in it. */
import { inputLimit } from '../../../errors.ts';
import type { Task, Warning } from '../../engine.ts';
import { mediaOf } from './streams.ts';

export interface Timeline {
  /** Seeks there and, where streams are encoded, cuts at the exact moment. */
  readonly args: readonly string[];
  /** The arguments stand behind the input: it is read from its beginning, as a jump would miss the moment. */
  readonly late?: boolean;
  readonly cut: boolean;
  /** Seconds of the result, undefined where the source does not tell. */
  readonly seconds: number | undefined;
  readonly warnings: readonly Warning[];
  readonly progress: (line: string) => number | undefined;
}

/** Without an index, FFmpeg jumps by guess: past the moment, or into a picture that needs an earlier one. */
const MISSES = new Set(['mpg', 'ts', 'ogv']);

/** @throws Failure `input_limit` where the start lies behind the end */
export function timeline({ source, options, facts }: Pick<Task, 'source' | 'options' | 'facts'>): Timeline {
  const { duration } = mediaOf(facts);
  const { start_time: start = 0, end_time: end } = options;
  if (duration !== undefined && duration > 0 && start >= duration && start > 0) throw inputLimit('start_time in seconds', duration, start);
  const past = end !== undefined && duration !== undefined && end > duration;
  const last = end === undefined || past ? duration : end;
  const seconds = last === undefined ? undefined : last - start;
  return {
    args: [...(start > 0 ? ['-ss', `${start}`] : []), ...(end === undefined || past ? [] : ['-t', `${end - start}`])],
    late: MISSES.has(source),
    cut: start > 0 || (end !== undefined && !past),
    seconds,
    warnings: past ? [{ code: 'end_past_end', message: `The recording ends after ${duration} seconds: end_time lies past that.` }] : [],
    progress: progressOf(seconds),
  };
}

/** How far a command is, from what `-progress` prints. @param seconds of its result */
export const progressOf =
  (seconds: number | undefined) =>
  (line: string): number | undefined => {
    const match = /^out_time_us=(\d+)$/.exec(line.trim());
    return match === null || seconds === undefined || seconds <= 0 ? undefined : Math.min(1, Number(match[1]) / 1e6 / seconds);
  };
