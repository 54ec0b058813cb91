/** Creates a job's record and publishes its order: both are there, or neither. */
import { ORDER_VERSION } from '../contracts/order.ts';
import { Failure } from '../errors.ts';
import type { JobRecord } from '../jobs/record.ts';
import { linesLike } from './line.ts';
import type { ApiParts } from './parts.ts';

/**
 * @param claim runs while the record is there and the order is not: where it throws, neither is left
 * @returns the record as it is stored: in another pool where its own had no room
 * @throws Failure `OVERLOADED` where every queue is full; the caller then removes the inputs
 */
export async function enqueue(
  parts: Pick<ApiParts, 'jobs' | 'queue' | 'pools'>,
  record: JobRecord,
  claim: () => Promise<void> = async () => {},
): Promise<JobRecord> {
  let claims = claim;
  for (const pool of linesLike(parts.pools, record.pool)) {
    const placed = { ...record, pool };
    if (await place(parts, placed, claims)) return placed;
    claims = async () => {};
  }
  throw new Failure('OVERLOADED', { details: { pool: record.pool } });
}

/** @returns whether there was room; nothing is left where there was none */
async function place({ jobs, queue }: Pick<ApiParts, 'jobs' | 'queue'>, record: JobRecord, claim: () => Promise<void>): Promise<boolean> {
  const { id, pool, lane } = record;
  const stored = await jobs.create(record);
  // A disk that is full for the order may be full for this too: upkeep then ends the job.
  const takeBack = async (error: unknown): Promise<never> => {
    await jobs.remove(id, stored.revision).catch(() => undefined);
    throw error;
  };
  await claim().catch(takeBack);
  const published = await queue.publish({ version: ORDER_VERSION, jobId: id, pool, lane }).catch((error: unknown) => {
    // Nobody knows whether the order is there: the job stands, and upkeep publishes it again where it is not.
    if (error instanceof Failure && error.code === 'OVERLOADED') return 'unknown' as const;
    return takeBack(error);
  });
  if (published === 'full') await jobs.remove(id, stored.revision);
  return published !== 'full';
}
