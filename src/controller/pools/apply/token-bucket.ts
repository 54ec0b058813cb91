/** A token bucket shared fairly by those who take from it at the same time. */

export interface TokenBucket {
  /** Takes one token for `who`. @returns 0, or how long until one is free, ms */
  take(who: string): number;
}

/** A pool that has not asked for this long no longer gets a share, ms. */
const PRESENT_MS = 2_000;

interface Share {
  tokens: number;
  at: number;
}

/**
 * A single pool has the whole rate and burst; several share them equally, so that one whose workers die as fast as they are created
 * cannot starve the others.
 * @param clock ms, steady
 */
export function tokenBucket(perSecond: number, burst: number, clock: () => number): TokenBucket {
  const shares = new Map<string, Share>();
  const whole: Share = { tokens: burst, at: clock() };
  const refill = (share: Share, now: number, takers: number) => {
    share.tokens = Math.min(Math.max(1, burst / takers), share.tokens + ((now - share.at) / 1000) * (perSecond / takers));
    share.at = now;
  };
  const untilOne = ({ tokens }: Share, takers: number) => Math.ceil(((1 - tokens) / (perSecond / takers)) * 1000);
  return {
    take(who) {
      const now = clock();
      for (const [other, { at }] of shares) if (now - at > PRESENT_MS) shares.delete(other);
      const own = shares.get(who) ?? { tokens: burst, at: now };
      shares.set(who, own);
      const takers = shares.size;
      refill(own, now, takers);
      refill(whole, now, 1);
      if (own.tokens < 1) return untilOne(own, takers);
      if (whole.tokens < 1) return untilOne(whole, 1);
      own.tokens--;
      whole.tokens--;
      return 0;
    },
  };
}
