/** Refusals that count towards a ban, except a `cooldown` refusal whose `Retry-After` the client respected. */
import type { Rejection } from './record.ts';
import type { Tier } from './tiers.ts';

/**
 * What counts as the same moment, ms: requests this close together were sent before the client could read the first answer, and timers of
 * clients and clocks of replicas differ a little.
 */
const MOMENT_MS = 50;

/**
 * Updates the earlier rejections at a new request: one whose `Retry-After` it respected is removed, one that it ignored becomes final. One
 * from the same moment stays open, so that a client may send several requests at once and repeat each as told.
 */
export function judge(rejections: readonly Rejection[], now: number): Rejection[] {
  return rejections.flatMap((rejection) => {
    if (rejection.retryAt === undefined || now - rejection.at < MOMENT_MS) return [rejection];
    return now >= rejection.retryAt - MOMENT_MS ? [] : [{ at: rejection.at }];
  });
}

export const isPending = (rejections: readonly Rejection[]): boolean => rejections.some(({ retryAt }) => retryAt !== undefined);

/**
 * @param waitMs until the tier that refused has room again
 * @param most rejections to keep: a network that is never banned would otherwise collect them without end
 */
export function reject(rejections: readonly Rejection[], tier: Tier, waitMs: number, now: number, most: number): Rejection[] {
  const rejection = { at: now, ...(tier === 'cooldown' && { retryAt: now + 1_000 * wholeSeconds(waitMs) }) };
  return [...rejections, rejection].slice(-most);
}

/** Whole seconds for `Retry-After` and `reset_seconds`, rounded up so that a retry is not refused again. */
export const wholeSeconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1_000));
