/** Limits on time: a piece of work is given up when its time is over or its caller leaves. */

/**
 * Gives up even on work that does not heed its signal.
 * @param late what is thrown when `ms` are over
 * @throws what `signal` was aborted with
 */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  late: () => Error,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const deadline = startDeadline(ms, signal, late);
  try {
    return await Promise.race([work(deadline.signal), aborted(deadline.signal)]);
  } finally {
    deadline.stop();
  }
}

export interface Deadline {
  /** Aborted with the reason of the caller's signal, or with what `late` made. */
  readonly signal: AbortSignal;
  /** The time no longer counts; the caller's signal still does. */
  stop(): void;
}

export function startDeadline(ms: number, signal: AbortSignal, late: () => Error): Deadline {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(late()), ms);
  return { signal: AbortSignal.any([signal, over.signal]), stop: () => clearTimeout(timer) };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
