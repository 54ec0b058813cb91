/** When a pool is looked at again, whatever is heard of it meanwhile. */
import type { Outcome } from '../apply/apply.ts';
import { type Decision, isLive, type Seen } from '../observe/seen.ts';

/** Until more Jobs may be made, at the soonest, ms. */
const MORE_MS = 500;
/** While something is under way, ms. */
const SOON_MS = 1_000;
/** While orders wait or are held, ms: what waits is heard at once, what ends is not. */
const BUSY_MS = 2_000;
export const QUIET_MS = 15_000;

/** @returns ms */
export function again({ workers, demand }: Seen, { actions, desired }: Decision, { waitMs }: Outcome): number {
  // Several at a time: each time all Jobs of the pool are read.
  if (waitMs !== undefined) return Math.max(MORE_MS, waitMs);
  const live = workers.filter(isLive);
  if (actions.length > 0 || desired === undefined || live.some(({ state }) => state !== 'idle' && state !== 'busy')) return SOON_MS;
  return demand !== undefined && (demand.pending > 0 || demand.inFlight > 0 || live.length !== desired) ? BUSY_MS : QUIET_MS;
}
