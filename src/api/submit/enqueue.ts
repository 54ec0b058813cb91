/** Creates a job's record, then publishes its order. Until the request keeps the job, the end of its scope takes both back. */
import { ORDER_VERSION, SMALL_ORDER_BYTES } from '../../contracts/messages/order.ts';
import { Failure } from '../../errors.ts';
import type { BatchRecord } from '../../jobs/batch.ts';
import { isFetching, leave } from '../../jobs/lifecycle.ts';
import { type JobRecord, sourceBytes } from '../../jobs/record.ts';
import type { Stored } from '../../jobs/store.ts';
import { equivalentPools } from '../../pools/registry.ts';
import type { ApiDeps } from '../deps.ts';
import { type Owned, owned } from '../intake/owned.ts';
import { cancelJob } from '../jobs/cancel.ts';
import { refuseFull } from './capacity.ts';

/** What of the API publishes an order. */
interface EnqueueDeps {
  readonly jobs: Pick<ApiDeps['jobs'], 'store' | 'queue' | 'clock'>;
  readonly catalogue: Pick<ApiDeps['catalogue'], 'pools'>;
}

interface Job {
  /** The record as it is stored now. */
  stored: Stored;
  /** Its order is published, or may be. */
  isQueued: boolean;
}

export type CreatedJob = Job & Owned;

/** All jobs of a request. */
export interface CreatedJobs extends Owned {
  /** In the order sent. */
  readonly jobs: readonly CreatedJob[];
}

/**
 * The jobs of a request, and their batch where they are one: all of them or none.
 * @param records one that has ended, or whose files are yet to be fetched, needs no room in a queue
 * @throws Failure `OVERLOADED` where every queue is known to be full; then nothing is stored
 */
export async function createJobs(
  deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>,
  records: readonly JobRecord[],
  batch?: BatchRecord,
): Promise<CreatedJobs> {
  const { batches } = deps.jobs;
  const { pools } = deps.catalogue;
  const waiting = records.filter((record) => record.state === 'queued' && !isFetching(record));
  for (const pool of new Set(waiting.map((record) => record.pool))) await refuseFull(deps, equivalentPools(pools, pool));
  await using undo = new AsyncDisposableStack();
  const jobs: CreatedJob[] = [];
  for (const record of records) jobs.push(undo.use(await storeJob(deps, record)));
  if (batch !== undefined) {
    // Registered before the write: a store whose answer is lost may have written it. A batch that stays is found by no client, and upkeep removes it.
    undo.defer(() => batches.remove(batch.id).catch(() => undefined));
    await batches.create(batch);
  }
  const all = undo.move();
  return { jobs, ...owned(() => all.disposeAsync()) };
}

async function storeJob(deps: Pick<ApiDeps, 'jobs' | 'files'>, record: JobRecord): Promise<CreatedJob> {
  const job: Job = { stored: await deps.jobs.store.create(record), isQueued: false };
  // A full disk may refuse this too: upkeep then ends the job.
  return Object.assign(
    job,
    owned(() => takeBack(deps, job).catch(() => undefined)),
  );
}

/** A job without an order is removed; one that a worker may have claimed is cancelled. */
async function takeBack(deps: Pick<ApiDeps, 'jobs' | 'files'>, { stored: { record, revision }, isQueued }: Job): Promise<void> {
  if (isQueued) await cancelJob(deps, record.id);
  else await deps.jobs.store.remove(record.id, revision);
}

/**
 * Publishes the order of a created job, in the record's pool or in an equivalent one.
 * @param client whose share of the pool the job counts towards
 * @returns the record as it is stored then: in another pool where its own had no room
 * @throws Failure `OVERLOADED` where every queue is full
 */
export async function enqueue(deps: EnqueueDeps, job: Job, client: string): Promise<JobRecord> {
  const { pool: own } = job.stored.record;
  for (const pool of equivalentPools(deps.catalogue.pools, own)) {
    if (pool !== job.stored.record.pool) await moveTo(deps, job, pool);
    job.isQueued = await publish(deps, job.stored.record, client);
    if (job.isQueued) return job.stored.record;
  }
  throw new Failure('OVERLOADED', { details: { pool: own } });
}

/** The same for all jobs of a request. One that has ended already gets no order. */
export async function enqueueAll(deps: EnqueueDeps, { jobs }: Pick<CreatedJobs, 'jobs'>, client: string): Promise<readonly JobRecord[]> {
  const records: JobRecord[] = [];
  for (const job of jobs) records.push(job.stored.record.state === 'queued' ? await enqueue(deps, job, client) : job.stored.record);
  return records;
}

/** A record is stored under its pool. It is found at every moment of its move, which upkeep completes where this process dies. */
async function moveTo({ jobs: { store, clock } }: EnqueueDeps, job: Job, pool: string): Promise<void> {
  const left = leave(job.stored.record, pool, clock());
  if (left === undefined) throw new Error('a job that is not queued has no other pool to go to');
  job.stored = await store.update(left, job.stored.revision);
  job.stored = await store.move(job.stored.record, job.stored.revision);
  // It has not been in the other pool: where the new one loses its workers, it may move once, as any job.
  const { moved: _, ...placed } = job.stored.record;
  job.stored = await store.update(placed, job.stored.revision);
}

/** @returns whether there was room */
async function publish({ jobs: { queue } }: EnqueueDeps, record: JobRecord, client: string): Promise<boolean> {
  const { id, pool, lane } = record;
  const isSmall = sourceBytes(record) <= SMALL_ORDER_BYTES;
  const published = await queue.publish({ version: ORDER_VERSION, jobId: id, pool, lane }, { client, isSmall }).catch((error: unknown) => {
    // The order may have been stored, or not. The job stays, and upkeep publishes the order again if it is missing.
    if (error instanceof Failure && error.code === 'OVERLOADED') return 'unknown' as const;
    throw error;
  });
  return published !== 'full';
}
