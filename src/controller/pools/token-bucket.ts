/** So many at once, and so many a second after that. */

export interface TokenBucket {
  /** Takes one. @returns 0, or after how many ms there will be one */
  take(): number;
}

/** @param clock ms, steady */
export function tokenBucket(perSecond: number, burst: number, clock: () => number): TokenBucket {
  let tokens = burst;
  let at = clock();
  return {
    take() {
      const now = clock();
      tokens = Math.min(burst, tokens + ((now - at) / 1000) * perSecond);
      at = now;
      if (tokens < 1) return Math.ceil(((1 - tokens) / perSecond) * 1000);
      tokens--;
      return 0;
    },
  };
}
