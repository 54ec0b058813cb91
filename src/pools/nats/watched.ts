/** The current contents of the bucket of pools: read again after every change and every reconnect. */
import type { Bucket } from '../../nats/bucket.ts';
import { type Everything, readAll } from './declarations.ts';

/** An entry that expires sends no message: everything is read again after this long, ms. */
const REREAD_MS = 30_000;
/** After a failure, ms. */
const AGAIN_MS = 2_000;

export interface Watched {
  now(): Everything;
  reread(): void;
  close(): Promise<void>;
}

/** @param report called for each failed read, which is then retried @throws Unavailable */
export async function watchPools(bucket: Bucket, report: (error: Error) => void): Promise<Watched> {
  let everything = await readAll(bucket);
  let reading: Promise<void> | undefined;
  let again = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const read = async () => {
    let wait = REREAD_MS;
    try {
      do {
        again = false;
        everything = await readAll(bucket, everything);
      } while (again && !closed);
    } catch (error) {
      wait = AGAIN_MS;
      if (!closed) report(error as Error);
    }
    reading = undefined;
    if (!closed) timer = setTimeout(reread, wait);
  };
  /** One at a time, and one more where something changed meanwhile. */
  const reread = () => {
    clearTimeout(timer);
    again = true;
    reading ??= read();
  };

  const unsubscribe = bucket.onChange(reread);
  // For changes before the subscription.
  reread();
  return {
    now: () => everything,
    reread,
    async close() {
      closed = true;
      clearTimeout(timer);
      unsubscribe();
      await reading;
    },
  };
}
