/** Work on many items, a few at a time. */

/**
 * Like `Promise.all` over `items`, with at most `limit` calls of `work` under way; calls begin in the order of `items`.
 * After a failure no further call begins, and this rejects only once the calls under way have ended, so that the caller may clean up after
 * them. (p-map rejects while they still run.)
 * @param abort is aborted with the first failure, to end the other calls early
 * @returns the results in the order of `items` @throws the first failure
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  { limit, abort }: { readonly limit: number; readonly abort?: AbortController },
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  // All workers share one iterator: each takes the next item.
  const remaining = items.entries();
  const worker = async () => {
    for (const [index, item] of remaining) {
      if (failures.length > 0) return;
      try {
        abort?.signal.throwIfAborted();
        results[index] = await work(item, index);
      } catch (error) {
        failures.push(error);
        abort?.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
