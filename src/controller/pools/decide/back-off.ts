/** Exponential back-off per template: while its workers keep failing, the next ones are created at longer and longer intervals. */
import type { Trouble } from '../observation.ts';

const FIRST_MS = 10_000;
export const LONGEST_MS = 300_000;

/** @param tolerated how many failures in a row are ignored */
export function backOff(tolerated = 0) {
  let template = '';
  let failures = 0;
  let rounds = 0;
  let lastRound = Number.NEGATIVE_INFINITY;
  let until = Number.NEGATIVE_INFINITY;
  let why: Trouble | undefined;
  return {
    /** @param at when it failed @param begun when the failed Job was created; both ms since the epoch */
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
      // Workers created together fail together: count them as one failure.
      if (rounds > 0 && begun <= lastRound) return;
      until = at + Math.min(LONGEST_MS, FIRST_MS * 2 ** rounds);
      rounds++;
      lastRound = at;
    },
    /** This template works now. */
    succeeded(of: string): void {
      if (of !== template) return;
      failures = 0;
      rounds = 0;
      why = undefined;
    },
    /** A back-off of another template does not apply to this one. */
    active: (of: string): { readonly until: number; readonly why: Trouble } | undefined =>
      of === template && why !== undefined ? { until, why: rounds === 1 ? { ...why, once: true } : why } : undefined,
    failures: (): number => failures,
  };
}
