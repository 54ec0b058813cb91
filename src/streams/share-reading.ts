/** One reading for all that ask at the same time, and shortly after it. */

/**
 * @param keptMs how long what was read is reused, ms; a reading that failed is not
 * @returns the reading in progress, or the last one while it is kept
 */
export function shareReading<T>(read: () => Promise<T>, keptMs: (found: T) => number): () => Promise<T> {
  let latest: { readonly reading: Promise<T>; until: number } | undefined;
  return () => {
    if (latest !== undefined && performance.now() < latest.until) return latest.reading;
    const begun = { reading: read(), until: Number.POSITIVE_INFINITY };
    latest = begun;
    const keep = (ms: number) => {
      begun.until = performance.now() + ms;
    };
    begun.reading.then(
      (found) => keep(keptMs(found)),
      () => keep(0),
    );
    return begun.reading;
  };
}
