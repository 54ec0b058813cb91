/** The stabilisation window: recent values of `desired`, of which only decreasing peaks are kept, so that its size does not grow with the number of reconciliations. */

export interface Recommendation {
  /** Ms since the epoch. */
  readonly at: number;
  readonly desired: number;
}

export function stabilisationWindow() {
  let kept: Recommendation[] = [];
  return {
    /** @param windowMs older values are dropped */
    note(at: number, desired: number, windowMs: number): void {
      // An earlier, lower value can never be the maximum again.
      kept = kept.filter((peak) => peak.at >= at - windowMs && peak.desired > desired);
      kept.push({ at, desired });
    },
    all: (): readonly Recommendation[] => kept,
  };
}
