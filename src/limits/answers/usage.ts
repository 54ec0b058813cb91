/** A client's usage of its limits, as shown to it. */
import { type ClientRecord, settle } from '../record.ts';
import { wholeSeconds } from '../rejections.ts';
import type { Quota, Rules } from '../tiers.ts';

export interface Usage {
  /** False where limits are switched off: responses then have no rate-limit headers. */
  readonly enforced: boolean;
  /** Ms since the epoch; undefined for a client that is not banned. */
  readonly banExpiresAt: number | undefined;
  readonly rejectionsLastHour: number;
  readonly daily: LimitShare;
  readonly hourly: LimitShare;
  readonly cooldown: LimitShare;
  readonly mcp: LimitShare;
  /** By slug. */
  readonly ai: Readonly<Record<string, LimitShare>>;
}

export interface LimitShare {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Until the whole limit is available again; for a window that has not opened, its full length. */
  readonly resetSeconds: number;
  /** How long a window lasts. */
  readonly windowSeconds: number;
}

export function usageOf(found: ClientRecord, rules: Rules, now: number): Usage {
  const record = settle(found, rules, now);
  const share = (quota: Quota): LimitShare => {
    const { since, used } = record.windows[quota.window] ?? { since: now, used: 0 };
    // More may be used than a limit that was lowered since.
    const remaining = Math.max(0, quota.limit - used);
    return {
      limit: quota.limit,
      used,
      remaining,
      resetSeconds: wholeSeconds(since + quota.ms - now),
      windowSeconds: wholeSeconds(quota.ms),
    };
  };
  const cooling = record.admittedAt === undefined ? 0 : 1;
  return {
    enforced: true,
    banExpiresAt: rules.bannable ? record.bannedUntil : undefined,
    rejectionsLastHour: record.rejections.length,
    daily: share(rules.daily),
    hourly: share(rules.hourly),
    mcp: share(rules.mcp),
    ai: Object.fromEntries(Object.entries(rules.ai).map(([slug, quota]) => [slug, share(quota)])),
    cooldown: {
      limit: 1,
      used: cooling,
      remaining: 1 - cooling,
      resetSeconds: wholeSeconds((record.admittedAt ?? now - rules.cooldownMs) + rules.cooldownMs - now),
      windowSeconds: wholeSeconds(rules.cooldownMs),
    },
  };
}
