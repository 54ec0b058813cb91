/** Waiting for a job's end: woken by hints, convinced by reading. */
import { hasEnded } from '../jobs/lifecycle.ts';
import type { JobRecord } from '../jobs/record.ts';
import type { JobStore } from '../jobs/store.ts';

/** A hint may be lost: nobody waits longer than this without looking, ms. */
const LOOK_MS = 1_000;

/** @returns the latest record, ended or not when `waitMs` are over or `signal` was aborted; undefined when it is gone */
export async function waitForEnd(jobs: JobStore, id: string, waitMs: number, signal: AbortSignal): Promise<JobRecord | undefined> {
  const until = performance.now() + waitMs;
  let wake = () => {};
  let woken = false;
  const unwatch = jobs.watch(id, () => {
    woken = true;
    wake();
  });
  try {
    for (;;) {
      woken = false;
      const record = (await jobs.get(id))?.record;
      const left = until - performance.now();
      if (record === undefined || hasEnded(record) || left <= 0 || signal.aborted) return record;
      // Between the read and here a change may have come already.
      if (woken) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, LOOK_MS));
        const stop = () => wake();
        wake = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', stop);
          resolve();
        };
        signal.addEventListener('abort', stop, { once: true });
      });
    }
  } finally {
    unwatch();
  }
}
