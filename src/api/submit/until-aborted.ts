/** Work for a ConversionJob, which no closed connection ends: the resource, this replica or a time limit does. */
import { Failure } from '../../errors.ts';
import { onAbort } from '../../streams/abort.ts';
import type { ApiDeps } from '../deps.ts';

/**
 * Ends the work when the resource is deleted, when this replica stops, and when it takes too long.
 * @param late makes the error that is thrown after `ms`
 * @throws Failure `JOB_EXPIRED`, `OVERLOADED` · what `late` makes · what the work throws before any of them
 */
export async function untilAborted<T>(
  { jobs: { signals }, service: { stopping } }: Pick<ApiDeps, 'jobs' | 'service'>,
  id: string,
  ms: number,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const unsubscribeCancel = signals.onCancel(id, () => over.abort(new Failure('JOB_EXPIRED')));
  const timer = setTimeout(() => over.abort(late()), ms);
  const unsubscribeStopping = onAbort(stopping, () =>
    over.abort(new Failure('OVERLOADED', { says: 'The service is shutting down: try again in a moment.' })),
  );
  try {
    return await work(over.signal);
  } catch (error) {
    throw over.signal.aborted ? over.signal.reason : error;
  } finally {
    clearTimeout(timer);
    unsubscribeCancel();
    unsubscribeStopping();
  }
}
