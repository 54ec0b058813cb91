/** How many workers the load asks for. */
import type { Demand, PoolSettings } from './seen.ts';

/** What one order is taken to last before any has ended, ms. */
const UNKNOWN_SERVICE_MS = 1_000;

/**
 * A worker for everything that is held, as many more as bring the last waiting order to a worker within `targetWaitMs`, and the standby.
 * @param serviceMs of one order on average
 */
export function desired(pool: PoolSettings, { pending, inFlight }: Demand, serviceMs = UNKNOWN_SERVICE_MS): number {
  const busy = Math.ceil(inFlight / pool.slots);
  return Math.min(pool.capacity, busy + Math.ceil(pending / ordersPerWorker(pool, serviceMs)) + pool.standby);
}

/** Waiting orders that one worker can take and still start the last in time: at least what it holds at once, at most what it may do. */
function ordersPerWorker({ slots, targetWaitMs, conversionsPerWorker }: PoolSettings, serviceMs: number): number {
  const inTime = Math.floor(targetWaitMs / Math.max(1, serviceMs)) * slots;
  return Math.max(Math.min(slots, conversionsPerWorker), Math.min(conversionsPerWorker, inTime));
}
