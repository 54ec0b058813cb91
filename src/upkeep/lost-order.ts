/** A job that has not ended must have an order: without one nobody would ever take it, or take it over. */
import { ORDER_VERSION } from '../contracts/order.ts';
import { isLeaving, waitingSince } from '../jobs/lifecycle.ts';
import { ACK_WAIT_MS } from '../queue/queue.ts';
import type { Action, Seen } from './seen.ts';

/** The API creates the record first and publishes then; a worker ends the record first and then the order. Neither takes this long, ms. */
export const LOST_AFTER_MS = 2 * ACK_WAIT_MS;

export function lostOrder({ now, record, hasOrder, aloneSince }: Seen): Action | undefined {
  if (hasOrder || isLeaving(record) || (record.state !== 'queued' && record.state !== 'running')) return undefined;
  const since = record.startedAt ?? waitingSince(record);
  // Whoever was between the two steps before we were alone has died there.
  if (now - since <= LOST_AFTER_MS && since >= (aloneSince ?? 0)) return undefined;
  const { id: jobId, pool, lane } = record;
  // A holder that is alive after all loses nothing but time: whoever claims next takes the attempt from it.
  return { do: 'publish', order: { version: ORDER_VERSION, jobId, pool, lane } };
}
