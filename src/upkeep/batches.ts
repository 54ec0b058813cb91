/** Removes batches whose jobs have all been removed: a batch goes last, as clients see its state through its jobs. */
import type { BatchStore } from '../jobs/batch.ts';
import { TOMBSTONE_MS } from '../jobs/lifecycle.ts';
import type { JobStore } from '../jobs/store.ts';
import { Unreadable } from '../jobs/text.ts';

interface ForgetBatchesDeps {
  readonly batches: BatchStore;
  readonly jobs: JobStore;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

/** @returns how many were removed */
export async function forgetBatches({ batches, jobs, clock }: ForgetBatchesDeps, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  // Only a job's tombstone lasts longer than this.
  for await (const { id, jobs: ids } of batches.createdBefore(clock() - TOMBSTONE_MS + 1)) {
    if (signal?.aborted) return removed;
    if (await anyIsThere(jobs, ids)) continue;
    await batches.remove(id);
    removed++;
  }
  return removed;
}

async function anyIsThere(jobs: JobStore, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) if (await isThere(jobs, id)) return true;
  return false;
}

/** An unreadable record counts as present. */
async function isThere(jobs: JobStore, id: string): Promise<boolean> {
  try {
    return (await jobs.get(id)) !== undefined;
  } catch (error) {
    if (error instanceof Unreadable) return true;
    throw error;
  }
}
