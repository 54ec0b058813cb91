/** What a worker does while a store is away: work that is done must not be repeated for that, nor count against the file. */
import { setTimeout } from 'node:timers/promises';

const OUTAGE_MS = 10 * 60_000;

interface Retries {
  /** Pause between two tries, ms; a function gets the error of the last one. */
  readonly retryMs: number | ((error: unknown) => number);
  /** Ends the wait for the next try. */
  readonly signal?: AbortSignal;
}

/** Repeats `work` while its error is an outage. @throws what `work` throws otherwise, or still after ten minutes · AbortError */
export async function throughOutage<T>(
  isOutage: (error: unknown) => boolean,
  { retryMs, signal }: Retries,
  work: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + OUTAGE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error) || performance.now() > until) throw error;
      await setTimeout(typeof retryMs === 'number' ? retryMs : retryMs(error), undefined, signal && { signal });
    }
  }
}
