/** Every stream, consumer and bucket of API replicas, created or updated: the only place that does this. */
import type { Config } from '../../config.ts';
import { ensureBatches } from '../../jobs/nats/batches.ts';
import { ensureIdempotency } from '../../jobs/nats/idempotency.ts';
import { ensureJobs } from '../../jobs/nats/jobs.ts';
import { ensureLimits } from '../../limits/nats.ts';
import type { Nats } from '../../nats/connection.ts';
import { Mismatch } from '../../nats/ensure.ts';
import { ensureRegistry } from '../../pools/nats/declarations.ts';
import { ensurePool } from '../../queue/nats/pool.ts';
import { ensureUploads } from '../../uploads/nats.ts';
import { CannotStart } from '../process/cannot-start.ts';
import { ownPools } from './pools.ts';

/** @throws CannotStart if one cannot be created or updated · Unavailable */
export async function ensureCluster(nats: Nats, { nats: settings, pools, upkeep }: Config): Promise<void> {
  const replicas = settings?.replicas ?? 1;
  try {
    for (const ensure of [ensureJobs, ensureBatches, ensureIdempotency, ensureLimits, ensureUploads, ensureRegistry])
      await ensure(nats, replicas);
    for (const { name } of ownPools(pools)) await ensurePool(nats, name, { capacity: upkeep.queueCapacity, replicas });
  } catch (error) {
    throw error instanceof Mismatch ? new CannotStart(error.message, { cause: error }) : error;
  }
}
