/** What is due in a bucket whose records become due, more or less, in the order in which they were last written. */
import type { Bucket, Entry } from './bucket.ts';

/** Records that are read at once, and how many that are not due yet may stand before one that is. */
const PAGE = 64;

/**
 * Reads the oldest ones until a whole page has nothing in it that is due: what that misses becomes the oldest in its turn.
 * @param dueIn what is in an entry; undefined where it is not due, or cannot be read
 */
export async function* oldestIn<T>(bucket: Bucket, dueIn: (entry: Entry) => T | undefined): AsyncGenerator<T> {
  for (let from: number | undefined = 0; from !== undefined; ) {
    const { entries, next } = await bucket.page(from, PAGE);
    const due = entries.flatMap((entry) => dueIn(entry) ?? []);
    yield* due;
    if (due.length === 0) return;
    from = next;
  }
}
