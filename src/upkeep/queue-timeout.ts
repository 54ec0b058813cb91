/** A job that nobody took for too long ends, rather than being done when its client has long gone. */
import { reasonTable } from '../errors.ts';
import { fail, waitingSince } from '../jobs/lifecycle.ts';
import type { Action, Seen } from './seen.ts';

export function queueTimeout({ now, record, queueMs }: Seen): Action | undefined {
  const waitedMs = now - waitingSince(record);
  if (record.state !== 'queued' || waitedMs <= queueMs) return undefined;
  const details = { waited_seconds: Math.round(waitedMs / 1_000) };
  return { do: 'fail', failed: fail(record, now, { reason: 'queue_timeout', message: reasonTable.queue_timeout, details }) };
}
