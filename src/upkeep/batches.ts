/** Batches of whose jobs nothing is left: they go last, as their jobs decide what readers are told. */
import type { BatchStore } from '../jobs/batch.ts';
import { TOMBSTONE_MS } from '../jobs/lifecycle.ts';
import type { JobStore } from '../jobs/store.ts';

interface Kept {
  readonly batches: BatchStore;
  readonly jobs: JobStore;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

/** @returns how many were removed */
export async function forgetBatches({ batches, jobs, clock }: Kept, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  for await (const { id, createdAt, jobs: ids } of batches.scan()) {
    if (signal?.aborted) return removed;
    // A job's tombstone alone outlives this.
    if (clock() - createdAt < TOMBSTONE_MS) continue;
    if (await anyIsThere(jobs, ids)) continue;
    await batches.remove(id);
    removed++;
  }
  return removed;
}

async function anyIsThere(jobs: JobStore, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) if ((await jobs.get(id)) !== undefined) return true;
  return false;
}
