/** Limits on time: a piece of work is given up when its time is over or its caller leaves. */
import { onAbort } from '../streams/abort.ts';

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
  const aborted = Promise.withResolvers<never>();
  const unsubscribe = onAbort(deadline.signal, aborted.reject);
  try {
    return await Promise.race([work(deadline.signal), aborted.promise]);
  } finally {
    unsubscribe();
    deadline.stop();
  }
}

export interface Deadline {
  /** Aborted with the reason of the caller's signal, or with what `late` made, until it is stopped. */
  readonly signal: AbortSignal;
  /** To be called when the work is over: the caller's signal may live much longer. */
  stop(): void;
}

export function startDeadline(ms: number, signal: AbortSignal, late: () => Error): Deadline {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(late()), ms);
  const unsubscribe = onAbort(signal, (reason) => over.abort(reason));
  return {
    signal: over.signal,
    stop() {
      clearTimeout(timer);
      unsubscribe();
    },
  };
}
