/** Decides, from an observation of a pool, which workers to create, retire and remove. Pure: no I/O, no clock. */
import {
  type Decision,
  type Demand,
  hasNodeTrouble,
  isComing,
  isLive,
  isServing,
  isStranded,
  type Observation,
  type ObservedWorker,
  type PoolAction,
  type PoolHold,
  type PoolScale,
  provesTemplate,
  type WorkerState,
} from '../observation.ts';

export function decide(observed: Observation): Decision {
  const wanted =
    observed.demand === undefined ? undefined : Math.max(forEngines(observed), desired(observed.pool, observed.demand, observed.serviceMs));
  const held = hold(observed);
  const scaling = wanted === undefined || held === 'Paused' ? [] : [...moveStranded(observed), ...scale(observed, wanted, held)];
  return { actions: [...tidy(observed), ...guard(observed), ...scaling], desired: wanted, hold: held };
}

/** Their successors are created once they are gone. */
const moveStranded = ({ workers }: Observation): readonly PoolAction[] =>
  workers.filter(isStranded).map((worker) => ({ do: 'remove', worker }));

/** The first of these with something to do wins. Growing comes first, so that a rollout retires a worker only when its replacement is up. */
function scale(observed: Observation, wanted: number, held: PoolHold | undefined): readonly PoolAction[] {
  if (held !== undefined) return [...shrink(observed, wanted), ...rollout(observed, true)].filter(isNoMove);
  for (const actions of [grow(observed, wanted), shrink(observed, wanted), rollout(observed, observed.backOff !== undefined)])
    if (actions.length > 0) return actions.filter(isNoMove);
  return [];
}

/** A stranded worker is removed already, and is the first that shrinking would take. */
const isNoMove = (action: PoolAction): boolean => action.do === 'create' || !isStranded(action.worker);

/**
 * A pool gets no orders for engines that it has not reported, and so would never get a worker with them: start one to report them, and one for each new
 * template. After failures, start one to show whether they are over.
 */
const forEngines = ({ pool, enginesKnown, enginesCurrent, backOff }: Observation): number =>
  enginesKnown && enginesCurrent && backOff === undefined ? 0 : Math.min(1, pool.capacity);

/** Assumed duration of one order before any has been measured, ms. */
const UNKNOWN_SERVICE_MS = 1_000;

/**
 * Workers for all orders in flight, plus as many as start the last waiting order within `targetWaitMs`, plus the standby.
 * @param serviceMs of one order on average
 */
export function desired(pool: PoolScale, { pending, inFlight }: Demand, serviceMs = UNKNOWN_SERVICE_MS): number {
  const busy = Math.ceil(inFlight / pool.slots);
  return Math.min(pool.capacity, busy + Math.ceil(pending / ordersPerWorker(pool, serviceMs)) + pool.standby);
}

/** Waiting orders that one worker can take and still start the last in time: at least its slots, at most `conversionsPerWorker`. */
function ordersPerWorker({ slots, targetWaitMs, conversionsPerWorker }: PoolScale, serviceMs: number): number {
  const inTime = Math.floor(targetWaitMs / Math.max(1, serviceMs)) * slots;
  return Math.max(Math.min(slots, conversionsPerWorker), Math.min(conversionsPerWorker, inTime));
}

/** More workers, as many as are missing and the capacity has room for. Which slots are free is looked up when their Jobs are created (room.ts). */
function grow({ workers, pool, backOff }: Observation, wanted: number): readonly PoolAction[] {
  const missing = wanted - workers.filter(isServing).length;
  const room = pool.capacity - workers.filter(isLive).length;
  // After failures one worker goes first; the others follow once it has come up.
  const trials = backOff === undefined ? missing : 1 - workers.filter((worker) => worker.current && isComing(worker)).length;
  const count = Math.min(missing, room, trials);
  return count <= 0 ? [] : [{ do: 'create', count }];
}

/** Repeating shorter work costs less than annotating the pod, ms. */
const WORTH_GUARDING_MS = 10_000;

function guard({ workers }: Observation): readonly PoolAction[] {
  return workers.flatMap((worker): PoolAction[] => {
    const { state, busyMs, guarded } = worker;
    if (!guarded && (state === 'busy' || state === 'draining') && busyMs > WORTH_GUARDING_MS) return [{ do: 'guard', worker, on: true }];
    // Keep the annotation between two long orders; only an idle worker is finished.
    if (guarded && state === 'idle') return [{ do: 'guard', worker, on: false }];
    return [];
  });
}

/** Whether the number of workers must stay as it is, and why. */
function hold({ now, pool, demand, workers, backOff }: Observation): PoolHold | undefined {
  if (pool.paused) return 'Paused';
  if (demand === undefined) return 'QueueUnknown';
  if (backOff !== undefined && now < backOff.until) return backOff.why;
  // While other workers send heartbeats, only that one pod hangs; while others of the same template do, only that one node fails.
  const othersWork = workers.some(({ state }) => state === 'idle' || state === 'busy');
  const templateWorks = workers.some(provesTemplate);
  const isAlone = (worker: ObservedWorker) =>
    hasNodeTrouble(worker) ? templateWorks : worker.trouble?.reason === 'WorkersSilent' && othersWork;
  // More pods would wait for the same nodes, images and quota, and one pending pod is enough for a node autoscaler.
  return workers.find((worker) => worker.state === 'stuck' && worker.trouble !== undefined && !isAlone(worker))?.trouble;
}

/** Share of the workers that may be leaving or starting at a time during a rollout. */
const AT_ONCE = 0.25;
const UNDER_WAY: ReadonlySet<WorkerState> = new Set(['draining', 'leaving', 'starting']);

/** @param held whether new workers cannot come up: then the old ones are kept */
function rollout({ workers }: Observation, held: boolean): readonly PoolAction[] {
  const live = workers.filter(isLive);
  const outdated = live.filter(({ current }) => !current);
  // A stuck worker may be stuck because of what the new template fixes.
  const stuck = outdated.filter(({ state }) => state === 'stuck').map((worker): PoolAction => ({ do: 'remove', worker }));
  if (stuck.length > 0 || held) return stuck;
  // One that its node keeps from starting is missing, too, until it has been replaced.
  const missing = live.filter((worker) => UNDER_WAY.has(worker.state) || hasNodeTrouble(worker)).length;
  const may = Math.max(1, Math.floor(live.length * AT_ONCE)) - missing;
  if (may <= 0) return [];
  const idle = outdated.filter(({ state }) => state === 'idle');
  const next = idle.length > 0 ? idle : outdated.filter(({ state }) => state === 'busy');
  return next.slice(0, may).map((worker) => ({ do: 'retire', worker }));
}

/** Shrinks only to the highest count desired within the stabilisation window: load in waves would otherwise end and create workers again and again. */
function shrink(observed: Observation, wanted: number): readonly PoolAction[] {
  const { now, pool, history, workers } = observed;
  const lately = history.filter(({ at }) => at >= now - pool.idleMs).map((past) => past.desired);
  const enough = Math.min(pool.capacity, Math.max(wanted, ...lately));
  const surplus = workers.filter(isServing).length - enough;
  const idle = leavers(workers).slice(0, Math.max(0, surplus));
  // A lowered capacity applies to busy workers too: each leaves when it has finished its orders.
  const excess = workers.filter(isLive).length - leaving(workers) - idle.length - pool.capacity;
  const busy = workers.filter(({ state }) => state === 'busy').slice(0, Math.max(0, excess));
  return [...idle, ...busy].map(retireOrRemove);
}

/** In the order in which they leave: stuck ones, outdated ones, then the highest slots, so that the remaining slots stay dense. */
function leavers(workers: readonly ObservedWorker[]): readonly ObservedWorker[] {
  const rank = ({ state, current }: ObservedWorker) => (state === 'stuck' ? 0 : current ? 2 : 1);
  return workers.filter(({ state }) => state === 'stuck' || state === 'idle').toSorted((a, b) => rank(a) - rank(b) || b.slot - a.slot);
}

/** A pod that never ran holds no order. */
const retireOrRemove = (worker: ObservedWorker): PoolAction => ({ do: worker.state === 'stuck' ? 'remove' : 'retire', worker });

const leaving = (workers: readonly ObservedWorker[]): number =>
  workers.filter(({ state }) => state === 'draining' || state === 'leaving').length;

/** How many failed Jobs each pool keeps, for their logs. */
export const KEPT_FAILURES = 3;

function tidy({ workers }: Observation): readonly PoolAction[] {
  const over = workers.filter(({ state, disrupted }) => state === 'succeeded' || state === 'lost' || disrupted === true);
  const failed = workers
    .filter(({ state, disrupted }) => state === 'failed' && disrupted !== true)
    .toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0));
  return [...over, ...failed.slice(KEPT_FAILURES)].map((worker) => ({ do: 'remove', worker }));
}
