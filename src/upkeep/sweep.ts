/** One run of upkeep over everything stored: gather, decide, apply. */

import type { BatchStore } from '../jobs/batch.ts';
import type { DeedStore } from '../jobs/idempotency.ts';
import { hasEnded } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import { Conflict, type JobStore, type Stored } from '../jobs/store.ts';
import { JOBS_PREFIX, jobOfKey } from '../objects/keys.ts';
import type { ObjectInfo, ObjectStore } from '../objects/store.ts';
import type { Queue } from '../queue/queue.ts';
import { forgetBatches } from './batches.ts';
import { decide } from './decide.ts';
import { orphans } from './orphans.ts';
import type { Action, Seen } from './seen.ts';

export interface Log {
  info(about: object, message: string): void;
  warn(about: object, message: string): void;
}

export interface Upkept {
  readonly jobs: JobStore;
  readonly batches: BatchStore;
  readonly deeds: DeedStore;
  readonly queue: Queue;
  readonly objects: ObjectStore;
  /** Ms since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
  /** How long a job may wait, ms. */
  readonly queueMs: number;
  /** How long a conversion may run, ms. */
  readonly longestJobMs: number;
  /** Ms since the epoch; see `Seen`. */
  readonly aloneSince?: number | undefined;
  /** Share of objects without a record, 0 to 1, above which none of them is deleted. */
  readonly maxOrphanShare: number;
}

/** What a run did. */
export type Tally = Record<Action['do'] | 'orphaned' | 'batches' | 'deeds' | 'troubles', number>;

/** Goes on past a job that makes trouble. @param signal stops the run between two jobs */
export async function sweep(upkept: Upkept, signal?: AbortSignal): Promise<Tally> {
  const tally: Tally = { delete: 0, publish: 0, fail: 0, forget: 0, orphaned: 0, batches: 0, deeds: 0, troubles: 0 };
  // Objects first: one that appears later belongs to a record that this run may not see.
  const files = await list(upkept.objects).catch((err: unknown) => {
    tally.troubles++;
    upkept.log.warn({ err }, 'the objects cannot be listed: this run looks after jobs and orders alone');
    return undefined;
  });
  const unclaimed = new Map(files?.byJob);

  const despite = async (jobId: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // Somebody else acted: the next run sees what came of it.
      if (error instanceof Conflict) return;
      tally.troubles++;
      upkept.log.warn({ jobId, err: error }, 'upkeep of this job failed, the next run tries again');
    }
  };

  for await (const { record } of upkept.jobs.scan()) {
    if (signal?.aborted) return tally;
    unclaimed.delete(record.id);
    const keys = files && (files.byJob.get(record.id)?.map(({ key }) => key) ?? []);
    await despite(record.id, () => tend(upkept, record, keys, tally));
  }

  tally.batches = await forgetBatches(upkept, signal);
  tally.deeds = await upkept.deeds.sweep(upkept.clock());

  if (files === undefined) return tally;

  const { listed } = files;
  const { longestJobMs, aloneSince, maxOrphanShare: maxShare } = upkept;
  const found = orphans({ now: upkept.clock(), listed, unclaimed, longestJobMs, aloneSince, maxShare });
  if (found.refused) {
    const about = { orphans: found.objects, objects: listed, maxShare };
    upkept.log.warn(about, 'too many objects have no job record: were the records lost or restored? None of these objects is deleted');
    return tally;
  }
  for (const jobId of found.jobIds) {
    if (signal?.aborted) return tally;
    const keys = unclaimed.get(jobId)?.map(({ key }) => key) ?? [];
    await despite(jobId, () => removeOrphans(upkept, jobId, keys, tally));
  }
  return tally;
}

/** Decides by what the scan showed, which may be old, and if there is anything to do once more by what is surely so. */
async function tend(upkept: Upkept, scanned: JobRecord, keys: Seen['keys'], tally: Tally): Promise<void> {
  if (decide(await look(upkept, scanned, keys)) === undefined) return;
  // The queue is asked before the record is read: a worker ends the record before the order.
  const hasOrder = await ordered(upkept, scanned);
  const stored = await upkept.jobs.get(scanned.id);
  if (stored === undefined) return;
  const { clock, queueMs, aloneSince } = upkept;
  const action = decide({ now: clock(), record: stored.record, hasOrder, keys, queueMs, aloneSince });
  if (action !== undefined && (await apply(upkept, stored, action))) tally[action.do]++;
}

async function look(upkept: Upkept, record: JobRecord, keys: Seen['keys']): Promise<Seen> {
  const { clock, queueMs, aloneSince } = upkept;
  return { now: clock(), record, hasOrder: await ordered(upkept, record), keys, queueMs, aloneSince };
}

const ordered = async ({ queue }: Upkept, record: JobRecord): Promise<boolean> =>
  !hasEnded(record) && (await queue.has(record.pool, record.id));

/** @returns whether it came about */
async function apply({ jobs, queue, objects, log }: Upkept, { record, revision }: Stored, action: Action): Promise<boolean> {
  switch (action.do) {
    case 'delete':
      for (const key of action.keys) await objects.delete(key);
      return true;
    case 'publish': {
      const answer = await queue.publish(action.order);
      if (answer === 'full') log.warn({ jobId: record.id, pool: record.pool }, 'the queue is full: an order that was lost is not back yet');
      return answer === 'accepted';
    }
    case 'fail':
      await jobs.update(action.failed, revision);
      await queue.remove(record.pool, record.id);
      return true;
    case 'forget':
      await jobs.remove(record.id, revision);
      return true;
  }
}

/** The scan may have missed a record that was written meanwhile: only the record itself can tell. */
async function removeOrphans({ jobs, objects }: Upkept, jobId: string, keys: readonly string[], tally: Tally): Promise<void> {
  if ((await jobs.get(jobId)) !== undefined) return;
  for (const key of keys) await objects.delete(key);
  tally.orphaned += keys.length;
}

async function list(objects: ObjectStore): Promise<{ listed: number; byJob: Map<string, ObjectInfo[]> }> {
  const byJob = new Map<string, ObjectInfo[]>();
  let listed = 0;
  for await (const info of objects.scan(JOBS_PREFIX)) {
    const jobId = jobOfKey(info.key);
    if (jobId === undefined) continue;
    listed++;
    const sofar = byJob.get(jobId);
    if (sofar === undefined) byJob.set(jobId, [info]);
    else sofar.push(info);
  }
  return { listed, byJob };
}
