/** Jobs and batches that were created before, by their ids. */
import { jobIdPattern } from '../../contracts/api/job.ts';
import { Failure } from '../../errors.ts';
import { type BatchRecord, batchIdPattern } from '../../jobs/batch.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { shown } from './view.ts';

/** The record of one job, or those of all jobs of a batch. */
export interface FoundJobs {
  readonly records: readonly JobRecord[];
  readonly batch?: BatchRecord;
}

export interface FoundBatch extends FoundJobs {
  readonly batch: BatchRecord;
}

/** A malformed id is one that does not exist. */
export async function findJob({ jobs: { store } }: Pick<ApiDeps, 'jobs'>, id: string): Promise<JobRecord | undefined> {
  return jobIdPattern.test(id) ? (await store.get(id))?.record : undefined;
}

/** @throws Failure `JOB_NOT_FOUND` */
export async function findBatch({ jobs: { batches, store } }: Pick<ApiDeps, 'jobs'>, id: string): Promise<FoundBatch> {
  const batch = batchIdPattern.test(id) ? await batches.get(id) : undefined;
  if (batch === undefined) throw new Failure('JOB_NOT_FOUND', { says: 'There is no such batch.' });
  const stored = await Promise.all(batch.jobs.map((job) => store.get(job)));
  return { batch, records: stored.flatMap((found) => (found === undefined ? [] : [found.record])) };
}

/** What an earlier request under the same key created. @throws Failure `JOB_EXPIRED`; `OVERLOADED` where that request has just taken it back */
export async function findCreated(deps: Pick<ApiDeps, 'jobs'>, id: string): Promise<FoundJobs> {
  if (batchIdPattern.test(id))
    return findBatch(deps, id).catch((error: unknown) => {
      throw error instanceof Failure && error.code === 'JOB_NOT_FOUND' ? new Failure('OVERLOADED', { cause: error }) : error;
    });
  const { store, clock } = deps.jobs;
  const stored = await store.get(id);
  if (stored === undefined) throw new Failure('OVERLOADED');
  return { records: [shown(stored.record, clock())] };
}
