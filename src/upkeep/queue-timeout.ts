/** A job that nobody took for too long ends, rather than being done when its client has long gone. */
import { failWaiting, waitingSince } from '../jobs/lifecycle.ts';
import type { Action, Seen } from './seen.ts';

export function queueTimeout({ now, record, queueMs }: Seen): Action | undefined {
  if (record.state !== 'queued' || now - waitingSince(record) <= queueMs) return undefined;
  return { do: 'fail', failed: failWaiting(record, now) };
}
