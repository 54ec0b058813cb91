/** The most that was wanted lately: kept as falling peaks, so that its size does not grow with how often one looks. */

export interface Recommendation {
  /** Ms since the epoch. */
  readonly at: number;
  readonly desired: number;
}

export function stabilisationWindow() {
  let kept: Recommendation[] = [];
  return {
    /** @param windowMs what is older is forgotten */
    note(at: number, desired: number, windowMs: number): void {
      // A lower one before it can never be the highest again.
      kept = kept.filter((peak) => peak.at >= at - windowMs && peak.desired > desired);
      kept.push({ at, desired });
    },
    all: (): readonly Recommendation[] => kept,
  };
}
