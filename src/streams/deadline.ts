/** Time limits: work is abandoned when its time is over or its caller aborts. */
import { onAbort, unlessAborted } from './abort.ts';

/**
 * Rejects in time even if the work ignores its signal.
 * @param late makes the error that is thrown after `ms`
 * @throws what `signal` was aborted with
 */
export async function within<T>(
  ms: number,
  signal: AbortSignal | undefined,
  late: () => Error,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const deadline = startDeadline(ms, signal, late);
  try {
    return await unlessAborted(work(deadline.signal), deadline.signal);
  } finally {
    deadline.stop();
  }
}

export interface Deadline {
  /** Aborted with the reason of the caller's signal, or with the error of `late`, unless stopped before. */
  readonly signal: AbortSignal;
  /** Call this when the work has ended: the caller's signal may live much longer. */
  stop(): void;
}

export function startDeadline(ms: number, signal: AbortSignal | undefined, late: () => Error): Deadline {
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
