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
