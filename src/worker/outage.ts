/** What a worker does while the object store is away: what is converted is not converted again for that. */
import { setTimeout } from 'node:timers/promises';
import { Unreachable } from '../objects/store.ts';

/** As long as the job store is waited for, ms. */
const OUTAGE_MS = 10 * 60_000;
/** Between two tries, ms. */
const RETRY_MS = 2_000;

/** Repeats `work` while the object store cannot be reached. A drain does not wait. @throws what `work` throws otherwise · AbortError */
export async function whileUnreachable<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + OUTAGE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Unreachable) || performance.now() > until) throw error;
    }
    await setTimeout(RETRY_MS, undefined, { signal });
  }
}
