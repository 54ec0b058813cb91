/** Fewer workers: by asking idle ones to leave, never by ending one at work. */
import { type Action, isLive, isServing, type Seen, type Worker } from './seen.ts';

/** Down only to the most that was wanted lately: load that comes in waves would else end and make workers again and again. */
export function shrink(seen: Seen, wanted: number): readonly Action[] {
  const { now, pool, history, workers } = seen;
  const lately = history.filter(({ at }) => at >= now - pool.idleMs).map((past) => past.desired);
  const enough = Math.min(pool.capacity, Math.max(wanted, ...lately));
  const surplus = workers.filter(isServing).length - enough;
  const idle = leavers(workers).slice(0, Math.max(0, surplus));
  // A capacity that was lowered is kept to by those at work too: each leaves when it has finished what it holds.
  const excess = workers.filter(isLive).length - leaving(workers) - idle.length - pool.capacity;
  const busy = workers.filter(({ state }) => state === 'busy').slice(0, Math.max(0, excess));
  return [...idle, ...busy].map(farewell);
}

/** Those that never came up first, then the outdated, then the highest slots, so that what is left stays packed. */
function leavers(workers: readonly Worker[]): readonly Worker[] {
  const rank = ({ state, current }: Worker) => (state === 'stuck' ? 0 : current ? 2 : 1);
  return workers.filter(({ state }) => state === 'stuck' || state === 'idle').toSorted((a, b) => rank(a) - rank(b) || b.slot - a.slot);
}

/** A pod that never ran holds no order. */
const farewell = (worker: Worker): Action => ({ do: worker.state === 'stuck' ? 'remove' : 'retire', worker });

const leaving = (workers: readonly Worker[]): number => workers.filter(({ state }) => state === 'draining' || state === 'leaving').length;
