/** Refusals that count towards a ban, and the one kind that is forgiven: a `cooldown` refusal whose `Retry-After` the client waited for. */
import type { Rejection } from './record.ts';
import type { Tier } from './tiers.ts';

/**
 * What counts as the same moment, ms: requests so close together were sent before one could read the other's answer, and clients' timers
 * and the replicas' clocks differ by a little.
 */
const MOMENT_MS = 50;

/**
 * What a working request makes of the refusals before it: one that it waited for goes, one that it did not wait for is there to stay. Of
 * one in the same moment it says nothing, so that a client may send several at once and repeat each as it is told to.
 */
export function judge(rejections: readonly Rejection[], now: number): Rejection[] {
  return rejections.flatMap((rejection) => {
    if (rejection.retryAt === undefined || now - rejection.at < MOMENT_MS) return [rejection];
    return now >= rejection.retryAt - MOMENT_MS ? [] : [{ at: rejection.at }];
  });
}

export const isPending = (rejections: readonly Rejection[]): boolean => rejections.some(({ retryAt }) => retryAt !== undefined);

/**
 * @param waitMs until the refused tier has room again
 * @param most to keep: a network that is never banned would else gather them without end
 */
export function reject(rejections: readonly Rejection[], tier: Tier, waitMs: number, now: number, most: number): Rejection[] {
  const rejection = { at: now, ...(tier === 'cooldown' && { retryAt: now + 1_000 * seconds(waitMs) }) };
  return [...rejections, rejection].slice(-most);
}

/** As `Retry-After` and `reset_seconds` say it: whole, and never so early that the retry is refused again. */
export const seconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1_000));
