/** What is over goes away, but for the last failures, whose logs somebody may want to read. */
import type { Action, Seen } from './seen.ts';

/** Failed Jobs that stay, of each pool. */
export const KEPT_FAILURES = 3;

export function tidy({ workers }: Seen): readonly Action[] {
  const over = workers.filter(({ state, disrupted }) => state === 'succeeded' || state === 'lost' || disrupted === true);
  const failed = workers
    .filter(({ state, disrupted }) => state === 'failed' && disrupted !== true)
    .toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0));
  return [...over, ...failed.slice(KEPT_FAILURES)].map((worker) => ({ do: 'remove', worker }));
}
