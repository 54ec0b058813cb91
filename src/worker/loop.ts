/** A worker's loop: pulls one order after the other, and sees each to its end even if stores or the network fail meanwhile. */

import { type Grant, GrantRefused } from '../contracts/messages/grant.ts';
import type { Lane } from '../contracts/messages/order.ts';
import { conversionFailed, Failure, RevisionConflict } from '../errors.ts';
import { SpawnFailed } from '../exec/confine/policy.ts';
import { claim, fail, hasEnded, requeue, requeueCounted, withdraw } from '../jobs/lifecycle.ts';
import type { JobRecord, StoredFailure } from '../jobs/record.ts';
import type { JobStore, Stored } from '../jobs/store.ts';
import { Unreadable } from '../jobs/text.ts';
import { StoreFull, Unreachable } from '../objects/store.ts';
import type { Delivery, Queue } from '../queue/queue.ts';
import type { Signals } from '../signals/signals.ts';
import { onAbort } from '../streams/abort.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Health } from './health.ts';

/** Converts a claimed job. @returns the change that records its result */
export type JobHandler = (record: JobRecord, grant: Grant, context: JobContext) => Promise<(record: JobRecord, now: number) => JobRecord>;

export interface JobContext {
  readonly signal: AbortSignal;
  /** 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  /** Requests a new grant: a URL may have expired, or a replica with a wrong clock signed it. @throws GrantRefused · Unavailable */
  readonly renewGrant: () => Promise<Grant>;
  readonly onPhase: (phase: 'converting' | 'uploading') => void;
  /** Defers cleanup that no client should wait for: it runs after the job's end is recorded and before the next order is taken. */
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
  readonly heldOrders?: HeldOrders;
  /** Called before each pull; where it returns undefined, this slot pulls no more orders. */
  readonly reserve?: () => Reservation | undefined;
  readonly health?: Pick<Health, 'ready' | 'fault' | 'classifyError' | 'close'>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: () => number;
  /** 128 random bits in hex. */
  readonly newAttempt: () => string;
}

/**
 * By job id: hands a redelivered order to the slot that already works on the job. The queue redelivers an order that this process was too
 * late to extend; no slot begins it again.
 */
export type HeldOrders = Map<string, (redelivered: Delivery) => void>;

/** A reserved place for one of the orders that a worker may still take. */
export interface Reservation {
  /** The pull returned an order. @returns call it when the order is finished or released */
  take(): () => void;
  /** The pull returned nothing. */
  cancel(): void;
}

export interface Worker {
  /** Stops pulling, waits up to `graceMs` for the current order, then releases it. */
  drain(graceMs: number): Promise<void>;
}

/** How often a held order is extended and checked for cancellation, ms: well under the queue's ack wait; a cancelled process must end within 5 s. */
const EXTEND_MS = 3_000;
/** How long a pull waits, ms: a drain has to wait for it. Jittered, so that many workers do not pull at once. */
const PULL_MS = 1_000;
const BULK_FIRST_EVERY = 4;
const CAS_TRIES = 10;
/** How long a worker that holds a job retries while the job store is unavailable, and the pause between two tries, ms. */
const OUTAGE_MS = 10 * 60_000;
const RETRY_MS = 500;
/** Age of a job after which no replica is expected any more that can decrypt its password, ms: a rollout replaces replicas one by one. */
const KEY_PATIENCE_MS = 10 * 60_000;
/** How long a released order waits in the queue when the file did not cause the failure, ms. */
const RELEASE_DELAY_MS = 5_000;

export function startWorker(deps: WorkerDeps): Worker {
  const { heldOrders = new Map() } = deps;
  const stopping = new AbortController();
  const releasing = new AbortController();
  const ended = (async () => {
    for (let turn = 1; !stopping.signal.aborted; turn++) {
      await deps.health?.ready(stopping.signal);
      if (stopping.signal.aborted) break;
      const reservation = deps.reserve?.();
      // The slots that reserved the last places go on until they have used them.
      if (deps.reserve !== undefined && reservation === undefined) break;
      let endTurn: (() => void) | undefined;
      try {
        const lanes: Lane[] = turn % BULK_FIRST_EVERY === 0 ? ['bulk', 'interactive'] : ['interactive', 'bulk'];
        const delivery = await deps.queue.pull(deps.pool, lanes, PULL_MS * (1 + Math.random()), stopping.signal);
        if (delivery === undefined) continue;
        const handOver = heldOrders.get(delivery.order.jobId);
        if (handOver !== undefined) {
          handOver(delivery);
          continue;
        }
        // The worker became unhealthy during the pull: another takes the order at once.
        if (deps.health?.fault !== undefined) {
          await delivery.release(0);
          continue;
        }
        endTurn = reservation?.take();
        const held = hold(heldOrders, delivery);
        await processOrder(deps, held, releasing.signal).finally(held.forget);
      } catch (error) {
        deps.log.error({ pool: deps.pool, err: error }, 'the worker could not take or finish an order');
        await new Promise((resolve) => setTimeout(resolve, 200));
      } finally {
        if (endTurn === undefined) reservation?.cancel();
        else endTurn();
      }
    }
  })();
  return {
    async drain(graceMs) {
      stopping.abort();
      const timer = setTimeout(() => releasing.abort(), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

interface HeldOrder extends Pick<Delivery, 'extend' | 'release' | 'done'> {
  readonly jobId: string;
  forget(): void;
}

/** Extends, releases and acknowledges an order through its latest delivery. */
function hold(heldOrders: HeldOrders, delivery: Delivery): HeldOrder {
  const { jobId } = delivery.order;
  let latest = delivery;
  const adopt = (redelivered: Delivery) => {
    latest = redelivered;
  };
  heldOrders.set(jobId, adopt);
  const forget = () => {
    if (heldOrders.get(jobId) === adopt) heldOrders.delete(jobId);
  };
  return {
    jobId,
    forget,
    extend: () => latest.extend(),
    release(delayMs) {
      forget();
      return latest.release(delayMs);
    },
    done() {
      forget();
      return latest.done();
    },
  };
}

async function processOrder(deps: WorkerDeps, delivery: HeldOrder, released: AbortSignal): Promise<void> {
  const { jobs, log, clock } = deps;
  const { jobId } = delivery;
  const attempt = deps.newAttempt();
  // A claim may have been stored although its answer was lost: it counts once.
  const claimOnce = (record: JobRecord) => {
    if (record.attempt === attempt) return record;
    // Where the job was moved to another pool, it has another order there.
    return record.pool === deps.pool ? claim(record, attempt, clock()) : undefined;
  };
  const claimed = await withRetry(released, () => updateRecord(jobs, jobId, claimOnce)).catch((error: unknown) => {
    if (!(error instanceof Unreadable)) throw error;
    log.warn({ job_id: jobId, err: error }, 'the order is released for a worker that can read its record');
    return 'unreadable' as const;
  });
  if (claimed === 'unreadable') return delivery.release(RELEASE_DELAY_MS);
  if (claimed === undefined || claimed.record.attempt !== attempt || hasEnded(claimed.record)) {
    if (claimed !== undefined && hasEnded(claimed.record)) recordEnd(deps, claimed.record);
    return delivery.done();
  }
  const aborter = new AbortController();
  const isMine = (record: JobRecord) => record.state === 'running' && record.attempt === attempt;
  const abort = () => aborter.abort();
  const onPhase = (phase: string) => log.debug({ job_id: jobId, attempt, phase }, 'the job entered a phase');
  onPhase('claimed');
  // A drain may have ended its grace period during the claim.
  const subscriptions = [deps.signals.onCancel(jobId, abort), onAbort(released, abort)];
  const extending = setInterval(
    () => void extend().catch((err: unknown) => log.warn({ job_id: jobId, err }, 'the order could not be extended')),
    EXTEND_MS,
  );
  const extend = async () => {
    const stored = await jobs.get(jobId);
    // The record decides, not the queue: even if the order has lapsed, no other worker has the job until it claims the record.
    await delivery.extend();
    if (stored === undefined || !isMine(stored.record)) abort();
  };

  const started = performance.now();
  let next: (record: JobRecord, now: number) => JobRecord;
  let isReleased = false;
  let delayMs = RELEASE_DELAY_MS;
  let last: Stored | undefined = claimed;
  const deferred: (() => Promise<void>)[] = [];
  try {
    const renewGrant = () => granted(deps, claimed.record, attempt);
    const grant = await renewGrant();
    // Progress that is published after a job's end would be remembered for ever.
    const onProgress = (fraction: number) => void (aborter.signal.aborted || deps.signals.progress(jobId, fraction * 100));
    const defer = (work: () => Promise<void>) => void deferred.push(work);
    next = await deps.handleJob(claimed.record, grant, { signal: aborter.signal, onProgress, renewGrant, onPhase, defer });
    onPhase('finishing');
  } catch (error) {
    const fault = aborter.signal.aborted ? undefined : await deps.health?.classifyError(error);
    // An aborted job whose record is still ours below was lost in an outage, and no other worker has taken it yet.
    isReleased = aborter.signal.aborted || fault !== undefined || isTransient(error);
    log.warn({ job_id: jobId, pool: deps.pool, err: error }, isReleased ? 'the order is released' : 'the conversion failed');
    const failure = storedFailure(error);
    // This worker takes no orders until it has recovered, so another may have this one at once.
    if (fault === 'own' && deps.health?.fault !== undefined) delayMs = 0;
    // The replica that refused the grant may have read a newer record than ours.
    if (error instanceof GrantRefused) last = undefined;
    next = fault === 'doubtful' ? requeueCounted : isReleased ? requeue : (record, now) => fail(record, now, failure);
  } finally {
    clearInterval(extending);
    for (const unsubscribe of subscriptions) unsubscribe();
  }

  // On a conflict: try again while the record is still running under this attempt. Otherwise another worker owns the job: upkeep removes
  // our output, and our claim must not count as a crash.
  let mine = false;
  try {
    const end = (record: JobRecord) => {
      mine = isMine(record);
      return mine ? next(record, clock()) : withdraw(record, attempt);
    };
    const stored = await withRetry(released, () => updateRecord(jobs, jobId, end, last));
    if (isReleased && (stored === undefined || !hasEnded(stored.record))) return await delivery.release(released.aborted ? 0 : delayMs);
    if (mine && stored !== undefined) recordEnd(deps, stored.record, (performance.now() - started) / 1000);
    // A job that another worker has taken over has not ended.
    if (mine) deps.signals.ended(jobId);
    await delivery.done();
  } finally {
    deps.signals.leave(jobId);
    for (const work of deferred) await work().catch((err: unknown) => log.warn({ job_id: jobId, err }, 'a job could not be cleaned up'));
  }
}

/** @throws Failure `CONVERSION_FAILED` when the job is so old that no replica will have the key of its password any more */
async function granted({ grant, clock }: WorkerDeps, { id, createdAt }: JobRecord, attempt: string): Promise<Grant> {
  try {
    return await grant(id, attempt);
  } catch (error) {
    if (!(error instanceof GrantRefused) || error.code !== 'key_unknown' || clock() - createdAt < KEY_PATIENCE_MS) throw error;
    throw conversionFailed('password_unreadable', { cause: error });
  }
}

/**
 * Reads, decides and writes a record; decides again after a revision conflict.
 * @param last the record as this worker last read or wrote it: usually still the latest, which saves a read
 * @returns what is stored afterwards; undefined where `decide` changed nothing
 */
async function updateRecord(
  jobs: JobStore,
  id: string,
  decide: (record: JobRecord) => JobRecord | undefined,
  last?: Stored,
): Promise<Stored | undefined> {
  for (let tries = 0; tries < CAS_TRIES; tries++) {
    const stored = tries === 0 && last !== undefined ? last : await jobs.get(id);
    const next = stored === undefined ? undefined : decide(stored.record);
    if (stored === undefined || next === undefined) return undefined;
    try {
      return await jobs.update(next, stored.revision);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new Error(`the record of ${id} could not be written in ${CAS_TRIES} tries`);
}

/** Retries while the job store is unavailable: finished work must be neither repeated nor held against the file. A drain does not wait. */
async function withRetry<T>(released: AbortSignal, write: () => Promise<T>): Promise<T> {
  const until = performance.now() + OUTAGE_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isUnavailable(error) || released.aborted || performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof Failure && error.code === 'OVERLOADED';

/** Whether the file did not cause the error, so that another try may succeed. */
const isTransient = (error: unknown): boolean =>
  error instanceof StoreFull ||
  error instanceof Unreachable ||
  error instanceof SpawnFailed ||
  error instanceof GrantRefused ||
  isUnavailable(error);

function storedFailure(error: unknown): StoredFailure {
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
