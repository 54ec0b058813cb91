/** Creates a job's record and publishes its order: both are there, or neither. */
import { ORDER_VERSION } from '../../contracts/messages/order.ts';
import { Failure } from '../../errors.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { Stored } from '../../jobs/store.ts';
import { refuseFull } from '../admission/capacity.ts';
import type { ApiDeps } from '../deps.ts';
import { cancelJob } from './cancel.ts';
import { equivalentPools } from './choose-pool.ts';

type Deps = Pick<ApiDeps, 'jobs' | 'queue' | 'pools' | 'room'>;

/**
 * @param client whose share of the pool the job counts towards
 * @param claim runs while the record is there and the order is not: where it throws, neither is left
 * @returns the record as it is stored: in another pool where its own had no room
 * @throws Failure `OVERLOADED` where every queue is full; the caller then removes the inputs
 */
export async function enqueue(
  deps: Deps,
  record: JobRecord,
  client: string,
  claim: () => Promise<void> = async () => {},
): Promise<JobRecord> {
  await refuseFull(deps, equivalentPools(deps.pools, record.pool));
  const stored = await deps.jobs.create(record);
  try {
    await claim();
  } catch (error) {
    await takeBack(deps, stored);
    throw error;
  }
  return publishOrder(deps, stored, client);
}

/**
 * The same for several, all of them or none; one that has ended already gets no order.
 * @param claim runs while all records are there and no order is
 */
export async function enqueueAll(
  deps: Deps & Pick<ApiDeps, 'objects' | 'signals' | 'clock'>,
  records: readonly JobRecord[],
  client: string,
  claim: () => Promise<void>,
): Promise<readonly JobRecord[]> {
  for (const pool of new Set(records.filter(({ state }) => state === 'queued').map((record) => record.pool)))
    await refuseFull(deps, equivalentPools(deps.pools, pool));
  const created: Stored[] = [];
  const placed: JobRecord[] = [];
  try {
    for (const record of records) created.push(await deps.jobs.create(record));
    await claim();
    for (const stored of created) placed.push(stored.record.state === 'queued' ? await publishOrder(deps, stored, client) : stored.record);
    return placed;
  } catch (error) {
    // The first failure is the answer: upkeep ends what cannot be cancelled now.
    for (const { record } of created) await cancelJob(deps, record.id).catch(() => undefined);
    throw error;
  }
}

/**
 * The order of a job whose record is there and has none yet: in the record's pool, or in one that can do as much.
 * @returns the record as it is stored then
 * @throws Failure `OVERLOADED` where every queue is full; the record is then removed
 */
export async function publishOrder(deps: Deps, created: Stored, client: string): Promise<JobRecord> {
  let stored = created;
  try {
    for (const pool of equivalentPools(deps.pools, created.record.pool)) {
      if (pool !== stored.record.pool) stored = await moveTo(deps, stored, pool);
      if (await publish(deps, stored.record, client)) return stored.record;
    }
  } catch (error) {
    await takeBack(deps, stored);
    throw error;
  }
  await takeBack(deps, stored);
  throw new Failure('OVERLOADED', { details: { pool: created.record.pool } });
}

/** A record lies with its pool: it cannot be changed into one of another. */
async function moveTo({ jobs }: Deps, { record, revision }: Stored, pool: string): Promise<Stored> {
  await jobs.remove(record.id, revision);
  return jobs.create({ ...record, pool });
}

/** @returns whether there was room */
async function publish({ queue }: Deps, { id, pool, lane }: JobRecord, client: string): Promise<boolean> {
  const published = await queue.publish({ version: ORDER_VERSION, jobId: id, pool, lane }, client).catch((error: unknown) => {
    // Nobody knows whether the order is there: the job stands, and upkeep publishes it again where it is not.
    if (error instanceof Failure && error.code === 'OVERLOADED') return 'unknown' as const;
    throw error;
  });
  return published !== 'full';
}

/** A disk that is full for the order may be full for this too: upkeep then ends the job. */
const takeBack = ({ jobs }: Deps, { record, revision }: Stored): Promise<void> => jobs.remove(record.id, revision).catch(() => undefined);
