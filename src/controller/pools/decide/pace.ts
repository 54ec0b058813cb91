/** When a pool is reconciled again if no event triggers it sooner. */
import { type ApplyOutcome, type Decision, isLive, type Observation } from '../observation.ts';

/** The shortest wait for more creation tokens, ms. */
const MORE_MS = 500;
/** While workers start, leave or change, ms. */
const SOON_MS = 1_000;
/** While orders wait or are held, ms: a new order triggers a reconciliation at once, the end of one does not. */
const BUSY_MS = 2_000;
export const QUIET_MS = 15_000;

/** @returns ms */
export function again({ workers, demand }: Observation, { actions, desired }: Decision, { waitMs }: ApplyOutcome): number {
  // Create several at a time: each attempt reads all Jobs of the pool.
  if (waitMs !== undefined) return Math.max(MORE_MS, waitMs);
  const live = workers.filter(isLive);
  if (actions.length > 0 || desired === undefined || live.some(({ state }) => state !== 'idle' && state !== 'busy')) return SOON_MS;
  return demand !== undefined && (demand.pending > 0 || demand.inFlight > 0 || live.length !== desired) ? BUSY_MS : QUIET_MS;
}
