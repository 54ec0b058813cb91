/** A batch as clients see it: its jobs in the order sent, and how many are in each state. */
import { Failure } from '../../errors.ts';
import type { BatchRecord } from '../../jobs/batch.ts';
import { visibility } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { problemOf } from '../http/problem.ts';
import { errorOf } from '../jobs/refused.ts';
import { type Beside, goneFailure, viewOf } from '../jobs/view.ts';

/** @param records of the batch's jobs, in its order @throws Failure `JOB_EXPIRED` once the last of them has expired */
export function batchViewOf(
  { id, createdAt }: BatchRecord,
  records: readonly JobRecord[],
  { base, suffix }: Omit<Beside, 'progress'>,
  now: number,
  progressOf: (jobId: string) => number | undefined,
  requestId: string,
): object {
  const live = liveOf(records, now);
  const jobs = records.map((record) => entryOf(record, { base, suffix, progress: progressOf(record.id) }, now, requestId));
  const count = (status: string) => jobs.filter((job) => job.status === status).length;
  const counts = { total: jobs.length, processing: count('processing'), done: count('done'), failed: count('error') };
  const self = `${base}/api/v1/batches/${id}`;
  return {
    batch_id: id,
    overall_status: counts.processing > 0 ? 'processing' : counts.failed === 0 ? 'done' : 'failed',
    counts,
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(Math.max(...live.map(({ expiresAt }) => expiresAt))).toISOString(),
    links: { self, output: `${self}/output` },
    jobs,
  };
}

/** The jobs that may still be shown. @throws Failure `JOB_EXPIRED` once the last of them has expired */
export function liveOf(records: readonly JobRecord[], now: number): readonly JobRecord[] {
  const live = records.filter((record) => visibility(record, now) === 'live');
  if (live.length === 0) throw new Failure('JOB_EXPIRED');
  return live;
}

function entryOf(record: JobRecord, beside: Beside, now: number, requestId: string) {
  const { job_id, status, output, links, ...job } = viewOf(record, beside);
  const isGone = visibility(record, now) !== 'live';
  const error = isGone ? goneFailure(record) : errorOf(record);
  return {
    filename: record.filename,
    ...(record.target.extension === '' ? {} : { to_format: record.target.extension }),
    job_id,
    status: isGone ? ('error' as const) : status,
    ...(job.progress === undefined ? {} : { progress: job.progress }),
    ...(output === undefined || isGone ? {} : { output }),
    links,
    warnings: job.warnings,
    ...(job.destination === undefined ? {} : { destination: job.destination }),
    ...(job.webhook === undefined ? {} : { webhook: job.webhook }),
    ...(error === undefined ? {} : problemOf(error, requestId)),
  };
}
