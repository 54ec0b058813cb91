/** Listening for an abort without leaving a listener behind: the only place that may add one to a signal. */

/**
 * Calls back once when the signal is aborted, and at once where it is already.
 * A signal may live as long as the process: unsubscribe as soon as what it would have interrupted is over.
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

/** For an answer of somebody who knows no signal: it goes on, and nobody hears it. @throws the signal's reason */
export async function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const unsubscribe = onAbort(signal, reject);
  try {
    return await Promise.race([answer, promise]);
  } finally {
    unsubscribe();
  }
}
