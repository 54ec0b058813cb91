/** A worker: pulls one order after the other, and takes each through claim → grant → run → upload → finish → ack. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Grant, GrantRefused } from '../contracts/messages/grant.ts';
import type { Lane } from '../contracts/messages/order.ts';
import { conversionFailed, Failure } from '../errors.ts';
import { SpawnFailed } from '../exec/confine/policy.ts';
import { claim, fail, giveWay, hasEnded, MAX_CLAIMS, requeue, requeueCounted, withdraw } from '../jobs/lifecycle.ts';
import type { JobRecord, StoredFailure } from '../jobs/record.ts';
import type { JobStore, Stored } from '../jobs/store.ts';
import { Unreadable } from '../jobs/text.ts';
import { updateRecord } from '../jobs/update.ts';
import { StoreFull, Unreachable } from '../objects/store.ts';
import type { Delivery, Queue } from '../queue/queue.ts';
import type { Signals } from '../signals/signals.ts';
import { onAbort } from '../streams/abort.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { GaveWay, ownTimeMs, watchWaiters } from './give-way.ts';
import type { EngineHealth } from './health.ts';
import { type HeldOrder, type HeldOrders, hold } from './held-order.ts';
import { throughOutage } from './outage.ts';
import type { PoolSlots, SlotTurn } from './pool-slots.ts';
import type { WorkerSettings } from './settings.ts';

/** Runs a claimed job and uploads its output. @returns what its record then becomes */
export type JobHandler = (record: JobRecord, grant: Grant, context: JobContext) => Promise<(record: JobRecord, now: number) => JobRecord>;

export interface JobContext {
  readonly signal: AbortSignal;
  /** 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  /** Asks for the grant again: a URL may expire, or have been signed by a replica whose clock is wrong. @throws GrantRefused · Unavailable */
  readonly renewGrant: () => Promise<Grant>;
  readonly onPhase: (phase: 'converting' | 'packing' | 'uploading') => void;
  /** Registers work that the answer need not wait for: it is done after the job's end is written, before the next order is pulled. */
  readonly defer: (work: () => Promise<void>) => void;
}

export interface WorkerDeps {
  readonly pool: string;
  readonly jobs: JobStore;
  readonly queue: Queue;
  readonly signals: Signals;
  /** @throws GrantRefused · Unavailable */
  readonly grant: (jobId: string, attempt: string) => Promise<Grant>;
  readonly handleJob: JobHandler;
  /** Shared by all workers of one process. */
  readonly heldOrders: HeldOrders;
  /** Called before an order is pulled. Where it returns undefined, this worker stops pulling for good. */
  readonly reserve?: () => OrderReservation | undefined;
  /** Shared by all workers of the pool in this process; unset: there is no express slot. */
  readonly slots?: PoolSlots;
  /** Whether this worker is the express slot: it takes orders while the other slots are all busy. */
  readonly express?: boolean;
  /** Unset: no job gives way. */
  readonly sharing?: WorkerSettings['sharing'];
  readonly health?: Pick<EngineHealth, 'ready' | 'fault' | 'classifyError' | 'close'>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: () => number;
  /** 128 random bits in hex. */
  readonly newAttempt: () => string;
}

/** One of the orders that a worker may take. Disposed of when the order has been dealt with, or where none was pulled. */
export interface OrderReservation extends Disposable {
  /** An order was pulled. */
  take(): void;
}

export interface WorkerLoop {
  /** Stops pulling, waits `graceMs` for the order in hand, then releases it. */
  drain(graceMs: number): Promise<void>;
}

/** How often a held order is extended and its record checked, ms: well under the queue's ack wait; a cancelled process must end within 5 s. */
const EXTEND_MS = 3_000;
/** A longer pull would make a drain wait, ms. Jitter is added, so that many workers do not pull at once. */
const PULL_MS = 1_000;
const BULK_FIRST_EVERY = 4;
/** How long a worker with a job in hand waits for the store of records to come back, and how long between two tries, ms. */
const RETRY_MS = 500;
/** How long after its creation a job waits for a replica that can decrypt its password, ms: replicas are replaced one after the other. */
const KEY_PATIENCE_MS = 10 * 60_000;
/** How long a released order waits when the fault is not the file's, ms. */
const RELEASE_MS = 5_000;
/** How long a worker that could not pull or finish an order waits before it pulls again, ms. */
const FAULT_MS = 200;
/** A claim this young is not taken over because its worker was heard late, ms: that worker looks at its order every `EXTEND_MS`. */
const JUST_CLAIMED_MS = 5_000;

export function startWorker(deps: WorkerDeps): WorkerLoop {
  const stopping = new AbortController();
  const dropping = new AbortController();
  const ended = takeOrders(deps, stopping.signal, dropping.signal);
  return {
    async drain(graceMs) {
      stopping.abort();
      const timer = setTimeout(() => dropping.abort(), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** One after the other, until the worker stops or may take no more. @param dropped aborted when a drain waits no longer for the order in hand */
async function takeOrders(deps: WorkerDeps, stopping: AbortSignal, dropped: AbortSignal): Promise<void> {
  const slot = deps.express === true ? undefined : deps.slots?.enter();
  let mayTakeMore = true;
  for (let turn = 1; mayTakeMore && !stopping.aborted; turn++) {
    mayTakeMore = await takeOrder(deps, { turn, slot, stopping, dropped }).catch(async (err: unknown) => {
      slot?.leave();
      deps.log.error({ pool: deps.pool, err }, 'the worker could not pull or finish an order');
      await pause(FAULT_MS);
      return true;
    });
  }
  slot?.leave();
}

interface Turn {
  /** From 1 on. */
  readonly turn: number;
  /** Undefined for the express slot, and where slots do not take turns. */
  readonly slot: SlotTurn | undefined;
  readonly stopping: AbortSignal;
  readonly dropped: AbortSignal;
}

/** Waits for the worker's turn, pulls an order, and takes it to its end. @returns whether the worker may take more */
async function takeOrder(deps: WorkerDeps, { turn, slot, stopping, dropped }: Turn): Promise<boolean> {
  const { express = false, health, heldOrders, reserve = unbounded } = deps;
  await health?.ready(stopping);
  if (express) await deps.slots?.untilFull(stopping);
  const myTurn = await slot?.next(stopping);
  if (stopping.aborted) return false;

  // An express slot reserves what it has: one that waits for all others to be busy must not keep an order from them.
  using early = express ? unbounded() : reserve();
  // The workers that hold the last reservations use them up.
  if (early === undefined) return false;
  const delivery = await pull(deps, turn, myTurn ?? stopping);
  if (delivery === undefined) return true;
  const adopt = heldOrders.get(delivery.order.jobId);
  if (adopt !== undefined) {
    adopt(delivery);
    return true;
  }
  // This worker became unhealthy while it waited: another may take the order at once.
  if (health?.fault !== undefined) {
    await delivery.release(0);
    return true;
  }
  using late = express ? reserve() : unbounded();
  if (late === undefined) {
    await delivery.release(0);
    return false;
  }

  early.take();
  late.take();
  using _ = slot?.occupy();
  await processDelivery(deps, delivery, dropped);
  return true;
}

const unbounded = (): OrderReservation => ({ take: () => {}, [Symbol.dispose]: () => {} });

function pull({ queue, pool, express = false }: WorkerDeps, turn: number, signal: AbortSignal): Promise<Delivery | undefined> {
  const waitMs = PULL_MS * (1 + Math.random());
  if (express) return queue.pullExpress(pool, waitMs, signal);
  const lanes: Lane[] = turn % BULK_FIRST_EVERY === 0 ? ['bulk', 'interactive'] : ['interactive', 'bulk'];
  return queue.pull(pool, lanes, waitMs, signal);
}

async function processDelivery(deps: WorkerDeps, delivery: Delivery, dropped: AbortSignal): Promise<void> {
  const held = hold(deps.heldOrders, delivery);
  try {
    await processOrder(deps, held, dropped);
  } catch (error) {
    // What keeps it alive would extend it for as long as this process runs, and no other worker would get it.
    held.forgo();
    throw error;
  } finally {
    held.forget();
  }
}

/** A pulled message to its end: claim → grant → run → upload → finish → ack. */
async function processOrder(deps: WorkerDeps, message: HeldOrder, dropped: AbortSignal): Promise<void> {
  const { jobId } = message;
  const attempt = deps.newAttempt();
  const claimed = await claimJob(deps, message, attempt, dropped);
  if (claimed === 'unreadable' || claimed === 'just claimed') return message.release(RELEASE_MS);
  if (claimed === 'not ours') return message.done();

  const started = performance.now();
  const cleanups: Cleanup[] = [];
  const outcome = await runClaimed(deps, message, { record: claimed.record, attempt, dropped, cleanups });
  try {
    const { stored, isMine } = await finishJob(deps, outcome, { claimed, attempt, dropped });
    // The worker that claimed it since was given the order: a word of ours would end it, or requeue it under way.
    if (!isMine && stored?.record.state === 'running') return message.forgo();
    if (outcome.givesWay && isMine && stored !== undefined && !hasEnded(stored.record)) {
      const ms = Math.round(performance.now() - started);
      deps.log.info(
        { job_id: jobId, pool: deps.pool, ms },
        'the conversion was stopped because another client waits; the order was requeued',
      );
      deps.metrics.jobGaveWay(deps.pool);
      return await message.giveWay();
    }
    if (outcome.releaseMs !== undefined && (stored === undefined || !hasEnded(stored.record)))
      return await message.release(dropped.aborted ? 0 : outcome.releaseMs);
    if (isMine && stored !== undefined) recordEnd(deps, stored.record, (performance.now() - started) / 1000);
    // Another worker that took the job over publishes more of it.
    if (isMine) deps.signals.ended(jobId);
    await message.done();
  } finally {
    deps.signals.leave(jobId);
    for (const cleanup of cleanups)
      await cleanup().catch((err: unknown) => deps.log.warn({ job_id: jobId, err }, 'a job could not be cleaned up'));
  }
}

/** @returns the job as it is stored, running and ours; else why there is nothing to run */
async function claimJob(
  deps: WorkerDeps,
  { jobId, late, contested }: HeldOrder,
  attempt: string,
  dropped: AbortSignal,
): Promise<Stored | 'unreadable' | 'not ours' | 'just claimed'> {
  const { jobs, log, clock, pool } = deps;
  const ofPool: Pick<JobStore, 'get' | 'update'> = { get: (id) => jobs.get(id, pool), update: jobs.update };
  let isJustClaimed = false;
  const take = (record: JobRecord) => {
    // An earlier try may have stored the claim and lost the answer: it counts once.
    if (record.attempt === attempt) return record;
    // The worker that runs it received the order after us.
    if (late && record.state === 'running') return undefined;
    // The worker that runs it said so in time, and was heard late: it regains the order before we get it again. A worker that died is only found out later.
    isJustClaimed = contested && record.state === 'running' && clock() - (record.startedAt ?? 0) < JUST_CLAIMED_MS;
    if (isJustClaimed) return undefined;
    // A job that moved to another pool has another order there.
    return record.pool === pool ? claim(record, attempt, clock()) : undefined;
  };
  try {
    const stored = await withRetry(dropped, () => updateRecord(ofPool, jobId, take));
    if (isJustClaimed) return 'just claimed';
    if (stored !== undefined && hasEnded(stored.record)) recordEnd(deps, stored.record);
    return stored === undefined || stored.record.attempt !== attempt || hasEnded(stored.record) ? 'not ours' : stored;
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    log.warn({ job_id: jobId, err: error }, 'this worker cannot read the job record: the order was requeued for another worker');
    return 'unreadable';
  }
}

type Cleanup = () => Promise<void>;

interface Claimed {
  readonly record: JobRecord;
  readonly attempt: string;
  /** Aborted when a drain waits no longer. */
  readonly dropped: AbortSignal;
  /** What the handler leaves to be done after the job's end is written. */
  readonly cleanups: Cleanup[];
}

/** What a run came to. */
interface RunOutcome {
  readonly next: (record: JobRecord, now: number) => JobRecord;
  /** The order goes back to the queue and waits so long there, ms; undefined: the job has ended. */
  readonly releaseMs?: number;
  /** The order goes behind those that wait. */
  readonly givesWay?: boolean;
  /** The record may have changed since it was claimed. */
  readonly isStale?: boolean;
}

/** Grant → run → upload, while the claim is watched and the order extended. */
async function runClaimed(deps: WorkerDeps, message: HeldOrder, { record, attempt, dropped, cleanups }: Claimed): Promise<RunOutcome> {
  const { log, signals } = deps;
  const { jobId } = message;
  const onPhase = (phase: string) => log.debug({ job_id: jobId, attempt, phase }, 'the job entered a phase');
  onPhase('claimed');
  using watch = watchClaim(deps, message, attempt, dropped);
  const { signal } = watch;
  using waiters = waitersOf(deps, message, record, watch.giveWay);
  try {
    const renewGrant = () => requestGrant(deps, record, attempt);
    const grant = await renewGrant();
    // Progress that came after the job's end would be kept for ever.
    const onProgress = (fraction: number) => void (signal.aborted || signals.progress(jobId, fraction * 100));
    const defer = (cleanup: Cleanup) => void cleanups.push(cleanup);
    const enter: JobContext['onPhase'] = (phase) => {
      // What is converted is not done again.
      if (phase === 'packing') waiters?.[Symbol.dispose]();
      onPhase(phase);
    };
    const next = await deps.handleJob(record, grant, { signal, onProgress, renewGrant, onPhase: enter, defer });
    onPhase('finishing');
    return { next };
  } catch (error) {
    // Awaited here: the order is extended until the outcome is known.
    return await outcomeOfError(deps, jobId, error, signal);
  }
}

/** Where jobs give way, calls back when this one has to. */
function waitersOf({ sharing, express = false, log, pool }: WorkerDeps, message: HeldOrder, record: JobRecord, giveWay: () => void) {
  if (sharing === undefined) return undefined;
  const unknown = (err: unknown) => log.warn({ pool, err }, 'the worker cannot see whether other clients wait: none of its jobs gives way');
  return watchWaiters(message, { ownTimeMs: ownTimeMs(record, express, sharing), express, giveWay, unknown });
}

interface WatchedClaim extends Disposable {
  /** Aborted when the job is cancelled, dropped, or claimed by another worker, and with `GaveWay` when it gives way. */
  readonly signal: AbortSignal;
  readonly giveWay: () => void;
}

/** Extends the order, and checks that the job is still this worker's. */
function watchClaim(deps: WorkerDeps, message: HeldOrder, attempt: string, dropped: AbortSignal): WatchedClaim {
  const { jobs, pool, signals, log } = deps;
  const { jobId } = message;
  const stop = new AbortController();
  const lose = () => stop.abort();
  const check = async () => {
    const stored = await jobs.get(jobId, pool);
    if (stored === undefined || !isHeldBy(stored.record, attempt)) return lose();
    // An order whose ack wait has passed has no holder while the record is still ours: a new claim would show there.
    if ((await message.extend()) === 'gone') await message.regain();
  };
  const timer = setInterval(
    () => void check().catch((err: unknown) => log.warn({ job_id: jobId, err }, 'the order could not be extended')),
    EXTEND_MS,
  );
  // It may have been dropped during the claim.
  const subscriptions = [signals.onCancel(jobId, lose), onAbort(dropped, lose)];
  return {
    signal: stop.signal,
    giveWay: () => stop.abort(new GaveWay()),
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const unsubscribe of subscriptions) unsubscribe();
    },
  };
}

const isHeldBy = (record: JobRecord, attempt: string): boolean => record.state === 'running' && record.attempt === attempt;

/** What an express slot has less of than the others. */
const SCARCE: ReadonlySet<unknown> = new Set(['memory', 'output_limit']);

/** If the file is at fault, the job has failed; otherwise its order is requeued. */
async function outcomeOfError(deps: WorkerDeps, jobId: string, error: unknown, signal: AbortSignal): Promise<RunOutcome> {
  const { health, log, pool, express } = deps;
  const tooLarge = express && !signal.aborted && error instanceof Failure && SCARCE.has(error.details['reason']);
  if (tooLarge || signal.reason instanceof GaveWay) {
    log.info(
      { job_id: jobId, pool, express, err: tooLarge ? error : undefined },
      'the job gave way and was requeued: its conversion starts again',
    );
    return { next: giveWay, givesWay: true, releaseMs: 0 };
  }
  const fault = signal.aborted ? undefined : await health?.classifyError(error);
  // Aborted although the record turns out to be ours: the order was lost, as in an outage, and no other worker has taken it yet.
  const isReleased = signal.aborted || fault !== undefined || isTransient(error);
  if (isReleased) {
    log.warn({ job_id: jobId, pool, err: error }, 'the conversion was interrupted; the order was requeued');
    return {
      next: fault === 'doubtful' ? requeueCounted : requeue,
      // This worker takes nothing before it is well: others may have the order at once.
      releaseMs: fault === 'own' && health?.fault !== undefined ? 0 : RELEASE_MS,
      // The replica that refused the grant may have read a newer record.
      isStale: error instanceof GrantRefused,
    };
  }
  const failure = storedFailure(error);
  // A mistake of ours, this machine or the file: it is tried again, as often as one that crashes workers.
  const isUnknown = failure.reason === 'internal';
  log.warn({ job_id: jobId, pool, err: error }, isUnknown ? 'the conversion failed for an unknown reason' : 'the conversion failed');
  return {
    next: (record, now) => (isUnknown && record.attempts < MAX_CLAIMS ? requeueCounted(record, now) : fail(record, now, failure)),
    ...(isUnknown && { releaseMs: RELEASE_MS }),
  };
}

/** Writes the outcome, unless another worker has claimed the job since: then our claim is withdrawn, and upkeep removes our output. */
async function finishJob(
  { jobs, clock }: WorkerDeps,
  { next, isStale }: RunOutcome,
  { claimed, attempt, dropped }: { readonly claimed: Stored; readonly attempt: string; readonly dropped: AbortSignal },
): Promise<{ readonly stored: Stored | undefined; readonly isMine: boolean }> {
  let isMine = false;
  const decide = (record: JobRecord) => {
    isMine = isHeldBy(record, attempt);
    return isMine ? next(record, clock()) : withdraw(record, attempt);
  };
  const stored = await withRetry(dropped, () => updateRecord(jobs, claimed.record.id, decide, isStale ? undefined : claimed));
  return { stored, isMine };
}

/** @throws GrantRefused; Failure where no replica has had the key of the job's password for `KEY_PATIENCE_MS` */
async function requestGrant({ grant, clock }: WorkerDeps, { id, createdAt }: JobRecord, attempt: string): Promise<Grant> {
  try {
    return await grant(id, attempt);
  } catch (error) {
    if (!(error instanceof GrantRefused) || error.code !== 'key_unknown' || clock() - createdAt < KEY_PATIENCE_MS) throw error;
    throw conversionFailed('password_unreadable', { cause: error });
  }
}

/** Tries again while the job store is unreachable. A drain does not wait. */
const withRetry = <T>(dropped: AbortSignal, write: () => Promise<T>): Promise<T> =>
  throughOutage((error) => isStoreUnreachable(error) && !dropped.aborted, { retryMs: RETRY_MS }, write);

const isStoreUnreachable = (error: unknown): boolean => error instanceof Failure && error.code === 'OVERLOADED';

/** Not the file's fault: the same may succeed later. */
const isTransient = (error: unknown): boolean =>
  error instanceof StoreFull ||
  error instanceof Unreachable ||
  error instanceof SpawnFailed ||
  error instanceof GrantRefused ||
  isStoreUnreachable(error);

function storedFailure(error: unknown): StoredFailure {
  // An option that asks for what the file does not have, which only the inspection shows.
  if (error instanceof Failure && error.code === 'INVALID_OPTION')
    return { reason: 'invalid_option', message: error.message, details: error.details };
  if (error instanceof Failure && error.code === 'CONVERSION_FAILED') {
    const { reason, ...details } = error.details;
    return { reason: String(reason), message: error.message, details };
  }
  return { reason: 'internal', message: 'Something went wrong on our side while converting.', details: {} };
}

function recordEnd({ log, metrics, pool }: WorkerDeps, record: JobRecord, seconds?: number): void {
  const engine = record.engine?.name;
  log.info(
    { job_id: record.id, pool, state: record.state, reason: record.failure?.reason, engine, seconds, attempts: record.attempts },
    'the job ended',
  );
  metrics.jobEnded(pool, record.state, record.failure?.reason ?? '');
  if (engine !== undefined && seconds !== undefined) metrics.conversionEnded(engine, seconds);
}
