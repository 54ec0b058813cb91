/** Workers that have been at one piece of work for long are worth more than the node space they take: autoscalers are told to let them be. */
import type { Action, Seen } from './seen.ts';

/** Shorter work is done again sooner than a mark is written, ms. */
const WORTH_GUARDING_MS = 10_000;

export function guard({ workers }: Seen): readonly Action[] {
  return workers.flatMap((worker): Action[] => {
    const { state, busyMs, guarded } = worker;
    if (!guarded && (state === 'busy' || state === 'draining') && busyMs > WORTH_GUARDING_MS) return [{ do: 'guard', worker, on: true }];
    // Between two long orders the mark may stay: one that is idle is done with them.
    if (guarded && state === 'idle') return [{ do: 'guard', worker, on: false }];
    return [];
  });
}
