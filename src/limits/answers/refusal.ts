/** A refusal as clients see it: code, message and details as in the error table. */
import type { Banned, Limited } from '../account.ts';
import { wholeSeconds } from '../rejections.ts';
import type { Tier } from '../tiers.ts';
import type { Usage } from './usage.ts';

export interface LimitRefusal {
  readonly granted: false;
  /** HTTP status 429 and 403. */
  readonly code: 'RATE_LIMITED' | 'BANNED';
  /** The message for people. */
  readonly says: string;
  readonly details: Readonly<Record<string, string | number>>;
  /** Value of the header `Retry-After`. */
  readonly retryAfterSeconds: number;
  readonly usage: Usage;
}

/** Every limit. Refusals by the flood guard and by the count of jobs do not count towards a ban. */
type Limit = Tier | 'concurrent' | 'flood';

/** @param now ms since the epoch */
export function limitRefusal(verdict: Limited<Limit> | Banned, usage: Usage, now: number): LimitRefusal {
  if (verdict.is === 'banned') {
    const until = new Date(verdict.until).toISOString();
    return {
      granted: false,
      code: 'BANNED',
      says: `Too many requests were refused within one hour: this client is banned until ${until}.`,
      details: { ban_expires_at: until },
      retryAfterSeconds: wholeSeconds(verdict.until - now),
      usage,
    };
  }
  const { tier, limit, waitMs } = verdict;
  const reset = wholeSeconds(waitMs);
  return {
    granted: false,
    code: 'RATE_LIMITED',
    says: `${SAYS[tier](limit)} Try again in ${reset} s.`,
    details: { tier, limit, reset_seconds: reset, rejections_last_hour: usage.rejectionsLastHour },
    retryAfterSeconds: reset,
    usage,
  };
}

const SAYS = {
  daily: (limit) => `This request would exceed the ${limit} files allowed in 24 hours.`,
  hourly: (limit) => `The ${limit} requests allowed in an hour are used up.`,
  cooldown: () => 'Requests arrive too quickly one after another.',
  ai: (limit) => `The ${limit} requests to this tool allowed in 24 hours are used up.`,
  mcp: (limit) => `The ${limit} tool calls allowed in 24 hours are used up.`,
  flood: (limit) => `At most ${limit} requests are answered per minute.`,
  concurrent: (limit) => `At most ${limit} jobs may be unfinished at once: wait for some to end.`,
} as const satisfies Record<Limit, (limit: number) => string>;
