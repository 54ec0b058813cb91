/** What a pool's workers should become, from what is seen of it: no I/O, no clock of its own. */
import {
  type Action,
  type Decision,
  type Demand,
  type Hold,
  isComing,
  isLive,
  isServing,
  type PoolSettings,
  type Seen,
  type Worker,
  type WorkerState,
} from '../observe/seen.ts';

export function decide(seen: Seen): Decision {
  const wanted = seen.demand === undefined ? undefined : Math.max(firstWords(seen), desired(seen.pool, seen.demand, seen.serviceMs));
  const held = hold(seen);
  return { actions: [...tidy(seen), ...guard(seen), ...scale(seen, wanted, held)], desired: wanted, hold: held };
}

/** The first that wants something decides: growing comes first, so that what is rolled has been replaced. */
function scale(seen: Seen, wanted: number | undefined, held: Hold | undefined): readonly Action[] {
  if (wanted === undefined || held === 'Paused') return [];
  if (held !== undefined) return [...shrink(seen, wanted), ...rollout(seen, true)];
  for (const actions of [grow(seen, wanted), shrink(seen, wanted), rollout(seen, seen.backOff !== undefined)])
    if (actions.length > 0) return actions;
  return [];
}

/** A pool that nobody knows the engines of gets no orders, and so would never get a worker: one comes to tell. Or to tell that trouble is over. */
const firstWords = ({ pool, enginesKnown, backOff }: Seen): number =>
  enginesKnown && backOff === undefined ? 0 : Math.min(1, pool.capacity);

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

/** More workers, as many as are missing and the capacity has room for. Which slots are free is looked up when their Jobs are created (room.ts). */
function grow({ workers, pool, backOff }: Seen, wanted: number): readonly Action[] {
  const missing = wanted - workers.filter(isServing).length;
  const room = pool.capacity - workers.filter(isLive).length;
  // After failures one goes ahead, and the others follow when it has come up.
  const trials = backOff === undefined ? missing : 1 - workers.filter((worker) => worker.current && isComing(worker)).length;
  const count = Math.min(missing, room, trials);
  return count <= 0 ? [] : [{ do: 'create', count }];
}

/** Shorter work is done again sooner than a mark is written, ms. */
const WORTH_GUARDING_MS = 10_000;

function guard({ workers }: Seen): readonly Action[] {
  return workers.flatMap((worker): Action[] => {
    const { state, busyMs, guarded } = worker;
    if (!guarded && (state === 'busy' || state === 'draining') && busyMs > WORTH_GUARDING_MS) return [{ do: 'guard', worker, on: true }];
    // Between two long orders the mark may stay: one that is idle is done with them.
    if (guarded && state === 'idle') return [{ do: 'guard', worker, on: false }];
    return [];
  });
}

/** Whether the number of workers must stay as it is, and why. */
function hold({ now, pool, demand, workers, backOff }: Seen): Hold | undefined {
  if (pool.paused) return 'Paused';
  if (demand === undefined) return 'QueueUnknown';
  if (backOff !== undefined && now < backOff.until) return backOff.why;
  // More pods would wait for the same nodes, images and quota: an autoscaler of nodes reacts to one as to many.
  const stuck = workers.filter(({ state }) => state === 'stuck').flatMap(({ trouble }) => trouble ?? []);
  // Where others are heard, it is one pod that hangs.
  const isHeard = workers.some(({ state }) => state === 'idle' || state === 'busy');
  return stuck.find(({ reason }) => reason !== 'WorkersSilent' || !isHeard);
}

/** Share of the workers that may be on their way out, or in, at a time. */
const AT_ONCE = 0.25;
const UNDER_WAY: ReadonlySet<WorkerState> = new Set(['draining', 'leaving', 'starting']);

/** @param held whether new workers cannot come up: then the old ones are all there is */
function rollout({ workers }: Seen, held: boolean): readonly Action[] {
  const live = workers.filter(isLive);
  const outdated = live.filter(({ current }) => !current);
  // What never came up may be held up by the very thing that was changed.
  const stuck = outdated.filter(({ state }) => state === 'stuck').map((worker): Action => ({ do: 'remove', worker }));
  if (stuck.length > 0 || held) return stuck;
  const may = Math.max(1, Math.floor(live.length * AT_ONCE)) - live.filter(({ state }) => UNDER_WAY.has(state)).length;
  if (may <= 0) return [];
  const idle = outdated.filter(({ state }) => state === 'idle');
  const next = idle.length > 0 ? idle : outdated.filter(({ state }) => state === 'busy');
  return next.slice(0, may).map((worker) => ({ do: 'retire', worker }));
}

/** Down only to the most that was wanted lately: load that comes in waves would else end and make workers again and again. */
function shrink(seen: Seen, wanted: number): readonly Action[] {
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

/** Failed Jobs that stay, of each pool. */
export const KEPT_FAILURES = 3;

function tidy({ workers }: Seen): readonly Action[] {
  const over = workers.filter(({ state, disrupted }) => state === 'succeeded' || state === 'lost' || disrupted === true);
  const failed = workers
    .filter(({ state, disrupted }) => state === 'failed' && disrupted !== true)
    .toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0));
  return [...over, ...failed.slice(KEPT_FAILURES)].map((worker) => ({ do: 'remove', worker }));
}
