/** Upkeep's runs over the jobs that are due, and each time over the next few stored objects: gather, decide, apply. */

import { RevisionConflict } from '../errors.ts';
import type { BatchStore } from '../jobs/batch.ts';
import type { IdempotencyStore } from '../jobs/idempotency.ts';
import { FETCHING, hasEnded, nextLookAt } from '../jobs/lifecycle.ts';
import type { Due, JobStore, Stored } from '../jobs/store.ts';
import { Unreadable } from '../jobs/text.ts';
import { JOBS_PREFIX, jobKeys, jobOfKey } from '../objects/keys.ts';
import type { ObjectInfo, ObjectStore } from '../objects/store.ts';
import type { Queue } from '../queue/queue.ts';
import { forgetBatches } from './batches.ts';
import { LOST_AFTER_MS, nextAction } from './decide.ts';
import { areOld, orphans } from './orphans.ts';
import { moveOn } from './reroute.ts';
import type { Seen, SweepAction } from './seen.ts';
import { type Walk, walkThrough } from './walk.ts';

export interface SweepLog {
  info(about: object, message: string): void;
  warn(about: object, message: string): void;
}

export interface Upkept {
  readonly jobs: JobStore;
  readonly batches: BatchStore;
  readonly idempotency: IdempotencyStore;
  readonly queue: Queue;
  readonly objects: ObjectStore;
  /** Ms since the epoch. */
  readonly clock: () => number;
  readonly log: SweepLog;
  /** Called for each record that had to be skipped. */
  readonly unreadable?: (found: Error) => void;
  /** How long a job may wait, ms. */
  readonly queueMs: number;
  /** How long a conversion may run, ms. */
  readonly longestJobMs: number;
  /** Ms since the epoch; see `Seen`. */
  readonly aloneSince?: number | undefined;
  /** Share of objects without a record, 0 to 1, above which none of them is deleted. */
  readonly maxOrphanShare: number;
  /** Given each job that has ended or whose result is to be stored elsewhere, when it is looked at: its message or its result may be due. Returns at once. */
  readonly offer?: ((stored: Stored) => void) | undefined;
}

/** What a run did. */
export type Tally = Record<Exclude<SweepAction['do'], 'wait'> | 'orphaned' | 'batches' | 'idempotency' | 'troubles', number>;

export interface Sweeper {
  /** Continues after a job, or a store, that fails. @param signal stops the run between two jobs */
  run(signal?: AbortSignal): Promise<Tally>;
  close(): Promise<void>;
}

/** Objects checked in each run: a million takes some six hours. */
export const STRETCH = 500;
/** Most batches that are old enough keep jobs for some hours more: checking them more often would be wasted. */
const BATCHES_EVERY_MS = 600_000;
/** When a record that cannot be read is tried again, ms: a newer filemill may be about to start. */
const UNREADABLE_MS = 3_600_000;

/** What the parts of one run share. */
interface Run {
  readonly upkept: Upkept;
  readonly tally: Tally;
  readonly signal: AbortSignal | undefined;
  /** By pool, as far as queried: which jobs have an order; undefined where the queue did not answer. */
  readonly ordered: Map<string, Promise<ReadonlySet<string> | undefined>>;
  /** Logged once a run. */
  objectsFailed: boolean;
}

export function sweeperOver(upkept: Upkept): Sweeper {
  const walk = walkThrough(upkept.objects, JOBS_PREFIX, jobOfKey);
  let batchesAt = Number.NEGATIVE_INFINITY;

  return {
    async run(signal) {
      const tally: Tally = { delete: 0, publish: 0, move: 0, fail: 0, forget: 0, orphaned: 0, batches: 0, idempotency: 0, troubles: 0 };
      const run: Run = { upkept, tally, signal, ordered: new Map(), objectsFailed: false };
      const { jobs, idempotency, clock } = upkept;
      const parts: Record<string, () => Promise<void>> = {
        objects: () => lookAtFiles(run, walk),
        async jobs() {
          for await (const due of jobs.due(clock())) {
            if (signal?.aborted) return;
            await despite(run, due.id, () => tend(run, due));
          }
        },
        async batches() {
          if (clock() - batchesAt < BATCHES_EVERY_MS) return;
          tally.batches = await forgetBatches(upkept, signal);
          batchesAt = clock();
        },
        async idempotency() {
          tally.idempotency = await idempotency.sweep(clock());
        },
      };
      for (const [part, work] of Object.entries(parts)) {
        if (signal?.aborted) break;
        await work().catch((err: unknown) => {
          tally.troubles++;
          upkept.log.warn({ err, part }, 'a part of upkeep failed; the next run tries again');
        });
      }
      return tally;
    },
    close: () => walk.close(),
  };
}

/** The state of one run. */
export async function sweep(upkept: Upkept, signal?: AbortSignal): Promise<Tally> {
  const sweeper = sweeperOver(upkept);
  try {
    return await sweeper.run(signal);
  } finally {
    await sweeper.close();
  }
}

async function despite({ upkept, tally }: Run, jobId: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    // Another process changed it: the next run sees the result.
    if (error instanceof RevisionConflict) return;
    tally.troubles++;
    upkept.log.warn({ job_id: jobId, err: error }, 'upkeep of this job failed; the next run tries again');
  }
}

async function tend(run: Run, due: Due): Promise<void> {
  const { upkept, tally } = run;
  const { clock, queueMs, aloneSince } = upkept;
  const isInTime = clock() - due.createdAt <= queueMs;
  if (isInTime && (await orderedIn(run, due.pool))?.has(due.id)) return;

  const stored = await read(run, due);
  if (stored === undefined) return;
  const ended = hasEnded(stored.record);
  // While a job is unfinished, the files of losing attempts stay.
  const keys = ended ? await keysOf(run, stored.record.id) : undefined;
  const { record } = stored;
  const now = clock();
  const action = nextAction({ now, record, hasOrder: ended || stored.hasOrder, keys, queueMs, aloneSince });
  if (action !== undefined && action.do !== 'wait' && (await apply(upkept, stored, action))) tally[action.do]++;
  if (action?.do === 'forget') return due.settle();
  if (ended || record.state === 'storing') upkept.offer?.(stored);
  const until = nextLookAt(record, now);
  if (ended && keys !== undefined && until > now) await due.settle(until);
}

/** @returns undefined where nothing can be done now */
async function read({ upkept: { jobs, queue, clock, unreadable } }: Run, due: Due): Promise<(Stored & { hasOrder: boolean }) | undefined> {
  try {
    const stored = await jobs.get(due.id, due.pool);
    if (stored === undefined) {
      // The job is scheduled as due before its record is created.
      if (clock() - due.createdAt > LOST_AFTER_MS) await due.settle();
      return undefined;
    }
    if (hasEnded(stored.record)) return { ...stored, hasOrder: true };
    // Query the queue before reading the record: a worker finishes the record before it acks the order.
    const hasOrder = stored.record.pool !== FETCHING && stored.record.state !== 'storing' && (await queue.has(stored.record.pool, due.id));
    const latest = await jobs.get(due.id, due.pool);
    return latest && { ...latest, hasOrder };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    unreadable?.(error);
    await due.settle(clock() + UNREADABLE_MS);
    return undefined;
  }
}

/** One query for each pool, so that waiting jobs need no separate query. */
function orderedIn({ upkept, ordered }: Run, pool: string | undefined): Promise<ReadonlySet<string> | undefined> {
  if (pool === undefined || pool === FETCHING) return Promise.resolve(undefined);
  // A pool that was removed or cannot be reached shows at each of its jobs.
  const asked = ordered.get(pool) ?? upkept.queue.jobs(pool).catch(() => undefined);
  ordered.set(pool, asked);
  return asked;
}

/** Undefined where they cannot be listed. */
async function keysOf(run: Run, jobId: string): Promise<Seen['keys']> {
  if (run.objectsFailed) return undefined;
  try {
    return (await filesOf(run.upkept.objects, jobId)).map(({ key }) => key);
  } catch (err) {
    objectsFailed(run, err);
    return undefined;
  }
}

function objectsFailed(run: Run, err: unknown): void {
  if (run.objectsFailed) return;
  run.objectsFailed = true;
  run.tally.troubles++;
  run.upkept.log.warn({ err }, 'the objects cannot be listed: this run covers only jobs and orders');
}

const filesOf = (objects: ObjectStore, jobId: string): Promise<ObjectInfo[]> => Array.fromAsync(objects.scan(jobKeys(jobId)));

/** @returns whether it was applied */
async function apply(
  { jobs, queue, objects, log }: Upkept,
  { record, revision }: Stored,
  action: Exclude<SweepAction, { readonly do: 'wait' }>,
): Promise<boolean> {
  switch (action.do) {
    case 'delete':
      for (const key of action.keys) await objects.delete(key);
      return true;
    case 'publish': {
      const answer = await queue.publish(action.order);
      if (answer === 'full')
        log.warn({ job_id: record.id, pool: record.pool }, 'the queue is full: a lost order could not be published again yet');
      return answer === 'accepted';
    }
    case 'move':
      return (await moveOn({ jobs, queue }, { record, revision })) !== undefined;
    case 'fail':
      await jobs.update(action.failed, revision);
      if (record.pool !== FETCHING) await queue.remove(record.pool, record.id);
      return true;
    case 'forget':
      await jobs.remove(record.id, revision, record.pool);
      return true;
  }
}

/** Files that were stored after the last check of their job, or whose job has no record. Objects are listed before the records are read. */
async function lookAtFiles(run: Run, walk: Walk): Promise<void> {
  if (run.objectsFailed) return;
  const { upkept, tally, signal } = run;
  const stretch = await walk.next(STRETCH).catch((err: unknown) => objectsFailed(run, err));
  if (stretch === undefined) return;
  const unclaimed = new Map<string, readonly ObjectInfo[]>();
  for (const [jobId, files] of stretch.byOwner) {
    if (signal?.aborted) return;
    await despite(run, jobId, async () => {
      const record = await recordOf(upkept, jobId);
      if (record === undefined) unclaimed.set(jobId, files);
      else if (record !== 'unreadable') await removeUnread(run, record, files);
    });
  }

  const { longestJobMs, aloneSince, maxOrphanShare: maxShare } = upkept;
  const ages = { now: upkept.clock(), longestJobMs, aloneSince };
  const { listed, unknown: earlier } = stretch;
  const found = orphans({ ...ages, listed, unclaimed, earlier, maxShare });
  walk.count(found.objects);
  if (found.refused) {
    const about = { orphans: earlier + found.objects, objects: listed, maxShare };
    upkept.log.warn(about, 'too many objects have no job record: were the records lost or restored? None of these objects is deleted');
    return;
  }
  for (const jobId of found.jobIds) {
    if (signal?.aborted) return;
    await despite(run, jobId, async () => {
      // List them again: the stretch may end among them.
      const files = await filesOf(upkept.objects, jobId);
      if (!areOld(files, ages)) return;
      for (const { key } of files) await upkept.objects.delete(key);
      tally.orphaned += files.length;
    });
  }
}

async function recordOf({ jobs, unreadable }: Upkept, jobId: string): Promise<Stored | 'unreadable' | undefined> {
  try {
    return await jobs.get(jobId);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    unreadable?.(error);
    return 'unreadable';
  }
}

async function removeUnread({ upkept, tally }: Run, stored: Stored, files: readonly ObjectInfo[]): Promise<void> {
  const { clock, queueMs } = upkept;
  const action = nextAction({ now: clock(), record: stored.record, hasOrder: true, keys: files.map(({ key }) => key), queueMs });
  // Everything else is handled when the job is due.
  if (action?.do === 'delete' && (await apply(upkept, stored, action))) tally.delete++;
}
