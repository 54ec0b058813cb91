/** A worker: takes one order after the other, and sees each to its end whatever happens meanwhile. */

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

/** What a claimed order comes to. */
export type JobHandler = (record: JobRecord, grant: Grant, context: JobContext) => Promise<(record: JobRecord, now: number) => JobRecord>;

export interface JobContext {
  readonly signal: AbortSignal;
  /** 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  /** Asks for the grant anew: a URL may lapse, or have been signed by a replica whose clock is wrong. @throws GrantRefused · Unavailable */
  readonly renewGrant: () => Promise<Grant>;
  readonly onPhase: (phase: 'converting' | 'uploading') => void;
  /** Work that nobody needs to wait for: done once the job's end is written, before the next order is taken. */
  readonly afterwards: (work: () => Promise<void>) => void;
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
  readonly inHand?: InHand;
  /** Asked before an order is pulled; where it gives no place, this slot takes none any more. */
  readonly reserve?: () => Reservation | undefined;
  readonly health?: Pick<Health, 'ready' | 'fault' | 'classifyError' | 'close'>;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: () => number;
  /** 128 random bits in hex. */
  readonly newAttempt: () => string;
}

/** By job: who works on it takes a newer hand-out of its order, which lapsed while this process was late. Nobody begins it anew. */
export type InHand = Map<string, (again: Delivery) => void>;

/** Of one order among those that a worker may take. */
export interface Reservation {
  /** The order is there. @returns to be called when it is let go */
  take(): () => void;
  /** None came. */
  cancel(): void;
}

export interface Worker {
  /** Stops pulling, waits `graceMs` for the order in hand, then gives it back. */
  drain(graceMs: number): Promise<void>;
}

/** How often a held order is extended and looked at for a cancellation, ms: well under the queue's ack wait, and a cancelled process must end within 5 s. */
const EXTEND_MS = 3_000;
/** A pull longer than this would make a drain wait; jittered, so that many workers do not ask at once. */
const PULL_MS = 1_000;
const BULK_FIRST_EVERY = 4;
const CAS_TRIES = 10;
/** How long a worker with a job in hand waits for the store of records to come back, and how long between two looks, ms. */
const OUTAGE_MS = 10 * 60_000;
const LOOK_MS = 500;
/** How old a job is when nobody waits any longer for a replica that can decrypt its password: replicas are replaced one after the other, ms. */
const KEY_PATIENCE_MS = 10 * 60_000;
/** How long an order rests when the fault is not the file's. */
const REST_MS = 5_000;

export function startWorker(deps: WorkerDeps): Worker {
  const { inHand = new Map() } = deps;
  const stopping = new AbortController();
  const dropping = new AbortController();
  const ended = (async () => {
    for (let turn = 1; !stopping.signal.aborted; turn++) {
      await deps.health?.ready(stopping.signal);
      if (stopping.signal.aborted) break;
      const reservation = deps.reserve?.();
      // Whoever has the last places goes on until it has used them.
      if (deps.reserve !== undefined && reservation === undefined) break;
      let letGo: (() => void) | undefined;
      try {
        const lanes: Lane[] = turn % BULK_FIRST_EVERY === 0 ? ['bulk', 'interactive'] : ['interactive', 'bulk'];
        const delivery = await deps.queue.pull(deps.pool, lanes, PULL_MS * (1 + Math.random()), stopping.signal);
        if (delivery === undefined) continue;
        const holder = inHand.get(delivery.order.jobId);
        if (holder !== undefined) {
          holder(delivery);
          continue;
        }
        // It fell ill while it waited: another takes it at once.
        if (deps.health?.fault !== undefined) {
          await delivery.release(0);
          continue;
        }
        letGo = reservation?.take();
        const held = hold(inHand, delivery);
        await processOrder(deps, held, dropping.signal).finally(held.letGo);
      } catch (error) {
        deps.log.error({ pool: deps.pool, err: error }, 'the worker could not take or finish an order');
        await new Promise((resolve) => setTimeout(resolve, 200));
      } finally {
        if (letGo === undefined) reservation?.cancel();
        else letGo();
      }
    }
  })();
  return {
    async drain(graceMs) {
      stopping.abort();
      const timer = setTimeout(() => dropping.abort(), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

interface Held extends Pick<Delivery, 'extend' | 'release' | 'done'> {
  readonly jobId: string;
  letGo(): void;
}

/** What is done with an order is done with its last hand-out. */
function hold(inHand: InHand, delivery: Delivery): Held {
  const { jobId } = delivery.order;
  let last = delivery;
  const adopt = (again: Delivery) => {
    last = again;
  };
  inHand.set(jobId, adopt);
  const letGo = () => {
    if (inHand.get(jobId) === adopt) inHand.delete(jobId);
  };
  return {
    jobId,
    letGo,
    extend: () => last.extend(),
    release(delayMs) {
      letGo();
      return last.release(delayMs);
    },
    done() {
      letGo();
      return last.done();
    },
  };
}

async function processOrder(deps: WorkerDeps, delivery: Held, dropped: AbortSignal): Promise<void> {
  const { jobs, log, clock } = deps;
  const { jobId } = delivery;
  const attempt = deps.newAttempt();
  // A claim may be stored although its answer was lost: it counts once.
  const take = (record: JobRecord) => {
    if (record.attempt === attempt) return record;
    // It was moved: its order there is another one.
    return record.pool === deps.pool ? claim(record, attempt, clock()) : undefined;
  };
  const claimed = await withRetry(dropped, () => updateRecord(jobs, jobId, take)).catch((error: unknown) => {
    if (!(error instanceof Unreadable)) throw error;
    log.warn({ job_id: jobId, err: error }, 'the order is left to a worker that can read its record');
    return 'unreadable' as const;
  });
  if (claimed === 'unreadable') return delivery.release(REST_MS);
  if (claimed === undefined || claimed.record.attempt !== attempt || hasEnded(claimed.record)) {
    if (claimed !== undefined && hasEnded(claimed.record)) recordEnd(deps, claimed.record);
    return delivery.done();
  }
  const stop = new AbortController();
  const isMine = (record: JobRecord) => record.state === 'running' && record.attempt === attempt;
  const lose = () => stop.abort();
  const enter = (phase: string) => log.debug({ job_id: jobId, attempt, phase }, 'the job went on');
  enter('claimed');
  // It may have been dropped during the claim.
  const subscriptions = [deps.signals.onCancel(jobId, lose), onAbort(dropped, lose)];
  const extending = setInterval(
    () => void stillMine().catch((err: unknown) => log.warn({ job_id: jobId, err }, 'the order could not be extended')),
    EXTEND_MS,
  );
  const stillMine = async () => {
    const stored = await jobs.get(jobId);
    // An order that lapsed is nobody's yet, if the record is still ours: who claims it takes it from us there.
    await delivery.extend();
    if (stored === undefined || !isMine(stored.record)) lose();
  };

  const started = performance.now();
  let next: (record: JobRecord, now: number) => JobRecord;
  let rests = false;
  let restMs = REST_MS;
  let last: Stored | undefined = claimed;
  const left: (() => Promise<void>)[] = [];
  try {
    const renewGrant = () => granted(deps, claimed.record, attempt);
    const grant = await renewGrant();
    // What is said of a job after its end would be remembered for ever.
    const onProgress = (fraction: number) => void (stop.signal.aborted || deps.signals.progress(jobId, fraction * 100));
    const afterwards = (work: () => Promise<void>) => void left.push(work);
    next = await deps.handleJob(claimed.record, grant, { signal: stop.signal, onProgress, renewGrant, onPhase: enter, afterwards });
    enter('finishing');
  } catch (error) {
    const fault = stop.signal.aborted ? undefined : await deps.health?.classifyError(error);
    // Aborted, and still mine when it comes to writing: the order was lost, as in an outage, and nobody has taken it yet.
    rests = stop.signal.aborted || fault !== undefined || isTransient(error);
    log.warn({ job_id: jobId, pool: deps.pool, err: error }, rests ? 'the order is given back' : 'the conversion failed');
    const failure = storedFailure(error);
    // This worker takes nothing before it is well: the order need not rest for others.
    if (fault === 'own' && deps.health?.fault !== undefined) restMs = 0;
    // Whoever refused it may have read more than we did.
    if (error instanceof GrantRefused) last = undefined;
    next = fault === 'doubtful' ? requeueCounted : rests ? requeue : (record, now) => fail(record, now, failure);
  } finally {
    clearInterval(extending);
    for (const unsubscribe of subscriptions) unsubscribe();
  }

  // On a conflict: still my attempt and running, once more; else somebody else has the word, my output is dropped by upkeep, and my claim was no crash.
  let mine = false;
  try {
    const end = (record: JobRecord) => {
      mine = isMine(record);
      return mine ? next(record, clock()) : withdraw(record, attempt);
    };
    const stored = await withRetry(dropped, () => updateRecord(jobs, jobId, end, last));
    if (rests && (stored === undefined || !hasEnded(stored.record))) return await delivery.release(dropped.aborted ? 0 : restMs);
    if (mine && stored !== undefined) recordEnd(deps, stored.record, (performance.now() - started) / 1000);
    // Of a job that another worker has taken over there is more to come.
    if (mine) deps.signals.ended(jobId);
    await delivery.done();
  } finally {
    deps.signals.leave(jobId);
    for (const work of left) await work().catch((err: unknown) => log.warn({ job_id: jobId, err }, 'a job could not be tidied up'));
  }
}

/** @throws Failure when no replica has had the key of the job's password for so long that none will */
async function granted({ grant, clock }: WorkerDeps, { id, createdAt }: JobRecord, attempt: string): Promise<Grant> {
  try {
    return await grant(id, attempt);
  } catch (error) {
    if (!(error instanceof GrantRefused) || error.code !== 'key_unknown' || clock() - createdAt < KEY_PATIENCE_MS) throw error;
    throw conversionFailed('password_unreadable', { cause: error });
  }
}

/**
 * Reads, decides, writes, and decides anew when somebody else was faster.
 * @param last what was stored when it was last looked at: as a rule it still is, and need not be read again
 * @returns what is stored afterwards; undefined when nothing was decided
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

/** Tries again while the store of records is away: what was done must not be done anew, nor count against the file. A drain does not wait. */
async function withRetry<T>(dropped: AbortSignal, write: () => Promise<T>): Promise<T> {
  const until = performance.now() + OUTAGE_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isStoreAway(error) || dropped.aborted || performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const isStoreAway = (error: unknown): boolean => error instanceof Failure && error.code === 'OVERLOADED';

/** Not the file's fault: the same may succeed later. */
const isTransient = (error: unknown): boolean =>
  error instanceof StoreFull ||
  error instanceof Unreachable ||
  error instanceof SpawnFailed ||
  error instanceof GrantRefused ||
  isStoreAway(error);

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
