/** An order through claim → grant → run → upload → finish → ack. */
import { type Grant, GrantRefused } from '../../contracts/messages/grant.ts';
import { conversionFailed, Failure } from '../../errors.ts';
import { SpawnFailed } from '../../exec/confine/policy.ts';
import { claim, fail, giveWay, hasEnded, MAX_CLAIMS, requeue, requeueCounted, waitingSince, withdraw } from '../../jobs/lifecycle.ts';
import type { JobRecord, StoredFailure } from '../../jobs/record.ts';
import type { JobStore, Stored } from '../../jobs/store.ts';
import { Unreadable } from '../../jobs/text.ts';
import { updateRecord } from '../../jobs/update.ts';
import { StoreFull, Unreachable } from '../../objects/store.ts';
import type { Signals } from '../../signals/signals.ts';
import { onAbort } from '../../streams/abort.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { EngineHealth } from '../health.ts';
import type { WorkerSettings } from '../settings.ts';
import { GaveWay, ownTimes, watchWaiters } from './give-way.ts';
import type { HeldDelivery } from './held-delivery.ts';
import { throughOutage } from './outage.ts';

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

export interface OrderDeps {
  readonly pool: string;
  readonly jobs: JobStore;
  readonly signals: Signals;
  /** @throws GrantRefused · Unavailable */
  readonly grant: (jobId: string, attempt: string) => Promise<Grant>;
  readonly handleJob: JobHandler;
  /** Whether the worker is the express slot: it takes orders while the other slots are all busy. */
  readonly express?: boolean;
  /** Unset: no job gives way. */
  readonly sharing?: WorkerSettings['sharing'];
  readonly health?: Pick<EngineHealth, 'fault' | 'classifyError'>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: () => number;
  /** 128 random bits in hex. */
  readonly newAttempt: () => string;
}

/** How often the order of a running job is extended and its record checked, ms: well under the queue's ack wait; a cancelled process must end within 5 s. */
const EXTEND_MS = 3_000;
/** How long a worker with a job in hand waits for the store of records to come back, and how long between two tries, ms. */
const RETRY_MS = 500;
/** How long a job waits for a replica that can decrypt its password, in each pool of a recipe, ms: replicas are replaced one after the other. */
const KEY_PATIENCE_MS = 10 * 60_000;
/** How long a released order waits when the fault is not the file's, ms. */
const RELEASE_MS = 5_000;
/** A younger claim is not taken over, ms: its worker may only be late, and looks at its order every `EXTEND_MS`. */
const JUST_CLAIMED_MS = 5_000;

/** A delivery to its end: claim → grant → run → upload → finish → ack. @param dropped aborted when a drain waits no longer for it */
export async function processOrder(deps: OrderDeps, delivery: HeldDelivery, dropped: AbortSignal): Promise<void> {
  const { jobId } = delivery;
  const attempt = deps.newAttempt();
  const claimed = await claimJob(deps, delivery, attempt, dropped);
  if (claimed === 'unreadable' || claimed === 'just claimed') return delivery.release(RELEASE_MS);
  if (claimed === 'not ours') return delivery.done();

  const startedAt = performance.now();
  const cleanups: Cleanup[] = [];
  try {
    const outcome = await runClaimed(deps, delivery, { record: claimed.record, attempt, dropped, cleanups });
    const finished = await finishJob(deps, outcome, { claimed, attempt, dropped });
    await settleOrder(deps, delivery, settlementOf(outcome, finished, dropped.aborted), { ...finished, startedAt });
  } finally {
    deps.signals.leave(jobId);
    for (const cleanup of cleanups)
      await cleanup().catch((err: unknown) => deps.log.warn({ job_id: jobId, err }, 'a job could not be cleaned up'));
  }
}

type ClaimRefusal = 'not ours' | 'just claimed';

/** @returns the job as it is stored, running and ours; else why there is nothing to run */
async function claimJob(
  deps: OrderDeps,
  delivery: HeldDelivery,
  attempt: string,
  dropped: AbortSignal,
): Promise<Stored | ClaimRefusal | 'unreadable'> {
  const { jobs, log, clock, pool } = deps;
  const { jobId } = delivery;
  const ofPool: Pick<JobStore, 'get' | 'update'> = { get: (id) => jobs.get(id, pool), update: jobs.update };
  let refusal: ClaimRefusal | undefined;
  const decide = (record: JobRecord) => {
    // An earlier try may have stored the claim and lost the answer: it counts once.
    if (record.attempt === attempt) return record;
    refusal = refusalOf(record, delivery, pool, clock());
    return refusal === undefined ? claim(record, attempt, clock()) : undefined;
  };
  try {
    const stored = await withRetry(dropped, () => updateRecord(ofPool, jobId, decide));
    if (refusal !== undefined) return refusal;
    if (stored === undefined) return 'not ours';
    if (!hasEnded(stored.record)) return stored;
    // It was claimed too often.
    recordEnd(deps, stored.record);
    deps.signals.ended(jobId);
    return 'not ours';
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    log.warn({ job_id: jobId, err: error }, 'this worker cannot read the job record: the order was requeued for another worker');
    return 'unreadable';
  }
}

/** Why the job is left to others; undefined where it may be claimed, unless it has ended. */
function refusalOf(record: JobRecord, { late, contested }: HeldDelivery, pool: string, now: number): ClaimRefusal | undefined {
  const isRunning = record.state === 'running';
  // The worker that runs it received the order after us.
  if (late && isRunning) return 'not ours';
  // The worker that runs it may be alive and its message late: then it regains the order before we get it again. Only time shows that a worker has died.
  if (contested && isRunning && now - (record.startedAt ?? 0) < JUST_CLAIMED_MS) return 'just claimed';
  // A job that moved to another pool has another order there.
  return record.pool === pool ? undefined : 'not ours';
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

interface GivesWay {
  /** For the log. */
  readonly why: string;
  readonly error: unknown;
}

/** The result of a run. */
interface RunOutcome {
  readonly next: (record: JobRecord, now: number) => JobRecord;
  /** The order goes back to the queue and waits so long there, ms; undefined: the job has ended. */
  readonly releaseMs?: number;
  /** The order goes behind those that wait. */
  readonly givesWay?: GivesWay;
  /** The record may have changed since it was claimed. */
  readonly isStale?: boolean;
}

/** Grant → run → upload, while the claim is watched and the order extended. */
async function runClaimed(deps: OrderDeps, delivery: HeldDelivery, { record, attempt, dropped, cleanups }: Claimed): Promise<RunOutcome> {
  const { log, signals } = deps;
  const { jobId } = delivery;
  const onPhase = (phase: string) => log.debug({ job_id: jobId, attempt, phase }, 'the job entered a phase');
  onPhase('claimed');
  using watch = watchClaim(deps, delivery, attempt, dropped);
  const { signal } = watch;
  using waiters = waitersOf(deps, delivery, record, watch.giveWay);
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
function waitersOf({ sharing, express = false, log, pool }: OrderDeps, delivery: HeldDelivery, record: JobRecord, giveWay: () => void) {
  if (sharing === undefined) return undefined;
  const unknown = (err: unknown) => log.warn({ pool, err }, 'the worker cannot see whether other clients wait: none of its jobs gives way');
  return watchWaiters(delivery, { ...ownTimes(record, express, sharing), express, giveWay, unknown });
}

interface WatchedClaim extends Disposable {
  /** Aborted when the job is cancelled, dropped, or claimed by another worker, and with `GaveWay` when it gives way. */
  readonly signal: AbortSignal;
  readonly giveWay: () => void;
}

/** Extends the order, and checks that the job is still this worker's. */
function watchClaim(deps: OrderDeps, delivery: HeldDelivery, attempt: string, dropped: AbortSignal): WatchedClaim {
  const { jobs, pool, signals, log } = deps;
  const { jobId } = delivery;
  const stop = new AbortController();
  const lose = () => stop.abort();
  const check = async () => {
    const stored = await jobs.get(jobId, pool);
    if (stored === undefined || !isHeldBy(stored.record, attempt)) return lose();
    // Its ack wait has passed, but the record is still ours: no other worker has claimed the job.
    if ((await delivery.extend()) === 'gone') await delivery.regain();
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

/** If the file is at fault, the job has failed; otherwise its order is requeued. */
async function outcomeOfError(deps: OrderDeps, jobId: string, error: unknown, signal: AbortSignal): Promise<RunOutcome> {
  if (signal.reason instanceof GaveWay) return gaveWay('the conversion was stopped because another client waits');
  if (deps.express && !signal.aborted && isShortOfRoom(error))
    return gaveWay('the express slot had too little room for the conversion', error);
  const fault = signal.aborted ? undefined : await deps.health?.classifyError(error);
  // Aborted although the record turns out to be ours: the order was lost, as in an outage, and no other worker has taken it yet.
  if (signal.aborted || fault !== undefined || isTransient(error)) return interrupted(deps, jobId, error, fault);
  return failed(deps, jobId, error);
}

/** What an express slot has less of than the others. */
const SCARCE: ReadonlySet<unknown> = new Set(['memory', 'output_limit']);
const isShortOfRoom = (error: unknown): boolean => error instanceof Failure && SCARCE.has(error.details['reason']);

const gaveWay = (why: string, error?: unknown): RunOutcome => ({ next: giveWay, givesWay: { why, error }, releaseMs: 0 });

/** By a cancellation, a drain, an outage, or a worker that is not well. @param fault of this worker, if any */
function interrupted({ health, log, pool }: OrderDeps, jobId: string, error: unknown, fault?: 'own' | 'doubtful'): RunOutcome {
  log.warn({ job_id: jobId, pool, err: error }, 'the conversion was interrupted; the order was requeued');
  return {
    next: fault === 'doubtful' ? requeueCounted : requeue,
    // This worker takes nothing before it is well: others may have the order at once.
    releaseMs: fault === 'own' && health?.fault !== undefined ? 0 : RELEASE_MS,
    // The replica that refused the grant may have read a newer record.
    isStale: error instanceof GrantRefused,
  };
}

function failed({ log, pool }: OrderDeps, jobId: string, error: unknown): RunOutcome {
  const failure = storedFailure(error);
  if (failure.reason !== 'internal') {
    log.warn({ job_id: jobId, pool, err: error }, 'the conversion failed');
    return { next: (record, now) => fail(record, now, failure) };
  }
  // A mistake of ours, this machine or the file: it is tried again, as often as one that crashes workers.
  log.warn({ job_id: jobId, pool, err: error }, 'the conversion failed for an unknown reason');
  return {
    next: (record, now) => (record.attempts < MAX_CLAIMS ? requeueCounted(record, now) : fail(record, now, failure)),
    releaseMs: RELEASE_MS,
  };
}

/** A job after its run. */
interface FinishedJob {
  /** Undefined where nothing was written. */
  readonly stored: Stored | undefined;
  /** No other worker had claimed the job since. */
  readonly isMine: boolean;
}

/** Writes the outcome, unless another worker has claimed the job since: then our claim is withdrawn, and upkeep removes our output. */
async function finishJob(
  { jobs, clock }: OrderDeps,
  { next, isStale }: RunOutcome,
  { claimed, attempt, dropped }: { readonly claimed: Stored; readonly attempt: string; readonly dropped: AbortSignal },
): Promise<FinishedJob> {
  let isMine = false;
  const decide = (record: JobRecord) => {
    isMine = isHeldBy(record, attempt);
    return isMine ? next(record, clock()) : withdraw(record, attempt);
  };
  const stored = await withRetry(dropped, () => updateRecord(jobs, claimed.record.id, decide, isStale ? undefined : claimed));
  return { stored, isMine };
}

/** What becomes of the order in the queue. */
type Settlement =
  | { readonly do: 'forgo' | 'done' }
  | { readonly do: 'give way'; readonly as: GivesWay }
  | { readonly do: 'release'; readonly delayMs: number };

function settlementOf({ givesWay, releaseMs }: RunOutcome, { stored, isMine }: FinishedJob, isDropped: boolean): Settlement {
  // The worker that claimed it since was given the order: an answer from us would end it, or requeue it under way.
  if (!isMine && stored?.record.state === 'running') return { do: 'forgo' };
  // Also where it was to be requeued: it may have been cancelled, or tried too often.
  if (stored !== undefined && hasEnded(stored.record)) return { do: 'done' };
  if (givesWay !== undefined && isMine && stored !== undefined) return { do: 'give way', as: givesWay };
  if (releaseMs !== undefined) return { do: 'release', delayMs: isDropped ? 0 : releaseMs };
  return { do: 'done' };
}

/** @param startedAt when the run began, by `performance.now()` */
async function settleOrder(
  deps: OrderDeps,
  delivery: HeldDelivery,
  settlement: Settlement,
  { stored, isMine, startedAt }: FinishedJob & { readonly startedAt: number },
): Promise<void> {
  const { log, metrics, signals, pool, express } = deps;
  const ms = performance.now() - startedAt;
  switch (settlement.do) {
    case 'forgo':
      return delivery.forgo();
    case 'give way': {
      const { why, error } = settlement.as;
      log.info(
        { job_id: delivery.jobId, pool, express, ms: Math.round(ms), err: error },
        `${why}: the order was requeued, and its conversion starts again`,
      );
      metrics.jobGaveWay(pool);
      return delivery.giveWay();
    }
    case 'release':
      return delivery.release(settlement.delayMs);
    case 'done':
      // A recipe goes on in another pool.
      if (isMine && stored !== undefined && hasEnded(stored.record)) recordEnd(deps, stored.record, ms / 1000);
      if (isMine && stored?.record.state === 'storing') recordConversion(deps, stored.record, ms / 1000);
      // Another worker that took the job over publishes more of it.
      if (isMine) signals.ended(delivery.jobId);
      return delivery.done();
  }
}

/** @throws GrantRefused; Failure where no replica has had the key of the job's password for `KEY_PATIENCE_MS` */
async function requestGrant({ grant, clock }: OrderDeps, record: JobRecord, attempt: string): Promise<Grant> {
  try {
    return await grant(record.id, attempt);
  } catch (error) {
    if (!(error instanceof GrantRefused) || error.code !== 'key_unknown' || clock() - waitingSince(record) < KEY_PATIENCE_MS) throw error;
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

function recordEnd({ log, metrics, pool }: OrderDeps, record: JobRecord, seconds?: number): void {
  const engine = record.engine?.name;
  const { lost, engine: failed } = record.failure?.details ?? {};
  log.info(
    { job_id: record.id, pool, state: record.state, reason: record.failure?.reason, engine, seconds, attempts: record.attempts },
    'the job ended',
  );
  metrics.jobEnded(pool, record.state, record.failure?.reason ?? '');
  if (record.failure?.reason === 'property_lost' && Array.isArray(lost))
    for (const property of lost) metrics.propertyLost(String(failed), String(property));
  recordConversion({ metrics }, record, seconds);
}

function recordConversion({ metrics }: Pick<OrderDeps, 'metrics'>, { engine, fidelity = [] }: JobRecord, seconds?: number): void {
  if (engine === undefined) return;
  if (seconds !== undefined) metrics.conversionEnded(engine.name, seconds);
  for (const { property, outcome } of fidelity) if (outcome === 'lost') metrics.propertyLost(engine.name, property);
}
