/** Listens for an abort without leaking listeners. No other module adds listeners to an AbortSignal. */

/**
 * Calls back once when the signal is aborted; at once if it already is.
 * A signal may live as long as the process: unsubscribe as soon as the work that it would interrupt has ended.
 * @returns unsubscribe; calling it twice is no error
 */
export function onAbort(signal: AbortSignal | undefined, callback: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const listener = () => callback(signal.reason);
  if (signal.aborted) {
    listener();
    return () => {};
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

/**
 * For work that takes no signal: it goes on, and its result is dropped.
 * @param errorOf makes the error that is thrown from what the signal was aborted with
 * @throws the signal's reason, unless told otherwise; also if the work has ended already
 */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  errorOf: (reason: unknown) => unknown = (reason) => reason,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const unsubscribe = onAbort(signal, (reason) => aborted.reject(errorOf(reason)));
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    unsubscribe();
  }
}
