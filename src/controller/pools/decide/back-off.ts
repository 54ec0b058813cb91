/** New workers of a template that keep failing come at longer and longer intervals. */
import type { Trouble } from '../observe/seen.ts';

const FIRST_MS = 10_000;
export const LONGEST_MS = 300_000;

/** @param tolerated failures in a row that mean nothing yet */
export function backOff(tolerated = 0) {
  let template = '';
  let failures = 0;
  let rounds = 0;
  let lastRound = Number.NEGATIVE_INFINITY;
  let until = Number.NEGATIVE_INFINITY;
  let why: Trouble | undefined;
  return {
    /** @param at when it failed @param begun when what failed was made, ms since the epoch */
    failed(of: string, at: number, trouble: Trouble, begun = at): void {
      if (of !== template) {
        failures = 0;
        rounds = 0;
        why = undefined;
      }
      template = of;
      failures++;
      if (failures <= tolerated) return;
      why = trouble;
      // Those that were made together fail together: that is one failure.
      if (rounds > 0 && begun <= lastRound) return;
      until = at + Math.min(LONGEST_MS, FIRST_MS * 2 ** rounds);
      rounds++;
      lastRound = at;
    },
    /** What failed with this template goes well now. */
    succeeded(of: string): void {
      if (of !== template) return;
      failures = 0;
      rounds = 0;
      why = undefined;
    },
    /** What was learned of another template says nothing of this one. */
    standing: (of: string): { readonly until: number; readonly why: Trouble } | undefined =>
      of === template && why !== undefined ? { until, why } : undefined,
    failures: (): number => failures,
  };
}
