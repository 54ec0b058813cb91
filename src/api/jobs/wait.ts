/** Waits for a job's end. */
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { JobStore } from '../../jobs/store.ts';
import { onAbort } from '../../streams/abort.ts';
import { readsOf } from './reads.ts';

/** @returns the latest record, ended or not when `waitMs` are over or `signal` was aborted; undefined when it is gone */
export async function waitForEnd(jobs: JobStore, id: string, waitMs: number, signal: AbortSignal): Promise<JobRecord | undefined> {
  const reads = readsOf(jobs);
  const { promise, resolve, reject } = Promise.withResolvers<JobRecord | undefined>();
  let isOver = waitMs <= 0 || signal.aborted;
  const unsubscribe = reads.subscribe(id, {
    read: (record) => {
      if (isOver || record === undefined || hasEnded(record)) resolve(record);
    },
    failed: reject,
  });
  const end = () => {
    isOver = true;
    reads.refresh(id);
  };
  const timer = setTimeout(end, waitMs);
  const stay = onAbort(signal, end);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    stay();
    unsubscribe();
  }
}
