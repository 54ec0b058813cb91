/** A worker: takes one order after the other, and sees each to its end whatever happens meanwhile. */

import type { Grant } from '../contracts/grant.ts';
import type { Lane } from '../contracts/order.ts';
import { Failure } from '../errors.ts';
import { claim, fail, hasEnded, requeue } from '../jobs/lifecycle.ts';
import type { JobRecord, StoredFailure } from '../jobs/record.ts';
import { Conflict, type JobStore, type Stored } from '../jobs/store.ts';
import { StoreFull, Unreachable } from '../objects/store.ts';
import type { Delivery, Queue } from '../queue/queue.ts';
import type { Signals } from '../signals/signals.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** What a claimed order comes to. */
export type Carrying = (record: JobRecord, grant: Grant, around: Around) => Promise<(record: JobRecord, now: number) => JobRecord>;

export interface Around {
  readonly signal: AbortSignal;
  /** 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  readonly onPhase: (phase: 'converting' | 'uploading') => void;
  /** Work that nobody needs to wait for: done once the job's end is written, before the next order is taken. */
  readonly afterwards: (work: () => Promise<void>) => void;
}

export interface WorkerParts {
  readonly pool: string;
  readonly jobs: JobStore;
  readonly queue: Queue;
  readonly signals: Signals;
  /** @throws when the attempt is no longer the record's */
  readonly grant: (jobId: string, attempt: string) => Promise<Grant>;
  readonly carry: Carrying;
  /** Hears when an order is taken, and by what it returns when that is let go. */
  readonly onTaken?: () => () => void;
  /** Asked before an order is taken; where it says no, the worker takes none any more. */
  readonly mayTake?: () => boolean;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: () => number;
  /** 128 random bits in hex. */
  readonly newAttempt: () => string;
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
/** How long an order rests when the fault is not the file's. */
const REST_MS = 5_000;

export function startWorker(parts: WorkerParts): Worker {
  const stopping = new AbortController();
  const dropping = new AbortController();
  const ended = (async () => {
    for (let turn = 1; !stopping.signal.aborted && (parts.mayTake?.() ?? true); turn++) {
      try {
        const lanes: Lane[] = turn % BULK_FIRST_EVERY === 0 ? ['bulk', 'interactive'] : ['interactive', 'bulk'];
        const delivery = await parts.queue.pull(parts.pool, lanes, PULL_MS * (1 + Math.random()), stopping.signal);
        if (delivery === undefined) continue;
        const letGo = parts.onTaken?.();
        await handle(parts, delivery, dropping.signal).finally(letGo);
      } catch (error) {
        parts.log.error({ pool: parts.pool, err: error }, 'the worker could not take or finish an order');
        await new Promise((resolve) => setTimeout(resolve, 200));
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

async function handle(parts: WorkerParts, delivery: Delivery, dropped: AbortSignal): Promise<void> {
  const { jobs, log, clock } = parts;
  const { jobId } = delivery.order;
  const attempt = parts.newAttempt();
  // A claim may be stored although its answer was lost: it counts once.
  const take = (record: JobRecord) => (record.attempt === attempt ? record : claim(record, attempt, clock()));
  const claimed = await outlasting(dropped, () => change(jobs, jobId, take));
  if (claimed === undefined || claimed.record.attempt !== attempt || hasEnded(claimed.record)) {
    if (claimed !== undefined && hasEnded(claimed.record)) note(parts, claimed.record);
    return delivery.done();
  }
  const stop = new AbortController();
  const isMine = (record: JobRecord) => record.state === 'running' && record.attempt === attempt;
  const lose = () => stop.abort();
  const enter = (phase: string) => log.debug({ job_id: jobId, attempt, phase }, 'the job went on');
  enter('claimed');
  const unsubscribe = parts.signals.onCancel(jobId, lose);
  dropped.addEventListener('abort', lose, { once: true });
  // It may have happened during the claim.
  if (dropped.aborted) lose();
  const extending = setInterval(
    () => void stillMine().catch((err: unknown) => log.warn({ job_id: jobId, err }, 'the order could not be extended')),
    EXTEND_MS,
  );
  const stillMine = async () => {
    const stored = await jobs.get(jobId);
    if ((await delivery.extend()) === 'gone' || stored === undefined || !isMine(stored.record)) lose();
  };

  const started = performance.now();
  let next: (record: JobRecord, now: number) => JobRecord;
  let rests = false;
  const left: (() => Promise<void>)[] = [];
  try {
    const grant = await parts.grant(jobId, attempt);
    const onProgress = (fraction: number) => parts.signals.progress(jobId, fraction * 100);
    const afterwards = (work: () => Promise<void>) => void left.push(work);
    next = await parts.carry(claimed.record, grant, { signal: stop.signal, onProgress, onPhase: enter, afterwards });
    enter('finishing');
  } catch (error) {
    // Aborted, and still mine when it comes to writing: the order was lost, as in an outage, and nobody has taken it yet.
    rests = stop.signal.aborted || passes(error);
    log.warn({ job_id: jobId, pool: parts.pool, err: error }, rests ? 'the order is given back' : 'the conversion failed');
    const failure = storedFailure(error);
    next = rests ? requeue : (record, now) => fail(record, now, failure);
  } finally {
    clearInterval(extending);
    unsubscribe();
    dropped.removeEventListener('abort', lose);
  }

  // On a conflict: still my attempt and running, once more; else somebody else has the word, and my output is dropped by upkeep.
  try {
    const end = (record: JobRecord) => (isMine(record) ? next(record, clock()) : undefined);
    const stored = await outlasting(dropped, () => change(jobs, jobId, end, claimed));
    if (rests && (stored === undefined || !hasEnded(stored.record))) return await delivery.release(dropped.aborted ? 0 : REST_MS);
    if (stored !== undefined) note(parts, stored.record, (performance.now() - started) / 1000);
    parts.signals.ended(jobId);
    await delivery.done();
  } finally {
    for (const work of left) await work().catch((err: unknown) => log.warn({ job_id: jobId, err }, 'a job could not be tidied up'));
  }
}

/**
 * Reads, decides, writes, and decides anew when somebody else was faster.
 * @param last what was stored when it was last looked at: as a rule it still is, and need not be read again
 * @returns what is stored afterwards; undefined when nothing was decided
 */
async function change(
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
      if (!(error instanceof Conflict)) throw error;
    }
  }
  throw new Error(`the record of ${id} could not be written in ${CAS_TRIES} tries`);
}

/** Tries again while the store of records is away: what was done must not be done anew, nor count against the file. A drain does not wait. */
async function outlasting<T>(dropped: AbortSignal, write: () => Promise<T>): Promise<T> {
  const until = performance.now() + OUTAGE_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isAway(error) || dropped.aborted || performance.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const isAway = (error: unknown): boolean => error instanceof Failure && error.code === 'OVERLOADED';

/** Not the file's fault: the same may succeed later. */
const passes = (error: unknown): boolean => error instanceof StoreFull || error instanceof Unreachable || isAway(error);

function storedFailure(error: unknown): StoredFailure {
  if (error instanceof Failure && error.code === 'CONVERSION_FAILED') {
    const { reason, ...details } = error.details;
    return { reason: String(reason), message: error.message, details };
  }
  return { reason: 'internal', message: 'Something went wrong on our side while converting.', details: {} };
}

function note({ log, metrics, pool }: WorkerParts, record: JobRecord, seconds?: number): void {
  const engine = record.engine?.name;
  log.info(
    { job_id: record.id, pool, state: record.state, reason: record.failure?.reason, engine, seconds, attempts: record.attempts },
    'the job ended',
  );
  metrics.jobEnded(pool, record.state, record.failure?.reason ?? '');
  if (engine !== undefined && seconds !== undefined) metrics.conversionEnded(engine, seconds);
}
