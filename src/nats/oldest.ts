/** Due records of a bucket whose records become due roughly in the order of their last write. */
import type { Bucket, BucketEntry } from './bucket.ts';

/** Records per page, and how many that are not due yet may come before one that is. */
const PAGE = 64;

/**
 * Reads the oldest records until a whole page contains none that is due: a record missed that way becomes the oldest in time.
 * @param dueIn reads an entry; undefined if it is not due, or cannot be read
 */
export async function* oldestIn<T>(bucket: Bucket, dueIn: (entry: BucketEntry) => T | undefined): AsyncGenerator<T> {
  for (let from: number | undefined = 0; from !== undefined; ) {
    const { entries, next } = await bucket.page(from, PAGE);
    const due = entries.flatMap((entry) => dueIn(entry) ?? []);
    yield* due;
    if (due.length === 0) return;
    from = next;
  }
}
