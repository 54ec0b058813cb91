/** Decides what to do about one job: pure, without I/O or a clock. */

import { ORDER_VERSION } from '../contracts/messages/order.ts';
import { giveUpStoring } from '../jobs/destination.ts';
import { fail, failWaiting, hasEnded, isFetching, isLeaving, visibility, waitingSince } from '../jobs/lifecycle.ts';
import { outputKey } from '../objects/keys.ts';
import { ACK_WAIT_MS } from '../queue/queue.ts';
import type { Seen, SweepAction } from './seen.ts';

/** In this order: the first that applies decides, and the next run sees what is then left to do. */
export const nextAction = (seen: Seen): SweepAction | undefined =>
  expiry(seen) ?? fetching(seen) ?? storing(seen) ?? queueTimeout(seen) ?? cutOffMove(seen) ?? lostOrder(seen) ?? leftovers(seen);

/** A job whose move to another pool was interrupted by a crash: no worker takes it in this state, so the move is finished. */
const cutOffMove = ({ now, record }: Seen): SweepAction | undefined =>
  isLeaving(record) && now - (record.moved?.at ?? 0) > LOST_AFTER_MS ? { do: 'move' } : undefined;

/** An expired job loses its files at once; its record stays for a while, so that clients get "expired" and not "unknown". */
function expiry({ now, record, keys }: Seen): SweepAction | undefined {
  const seenAs = visibility(record, now);
  // The record last: while it exists, files that could not be removed or listed this time still belong to a job.
  if (seenAs === 'live' || keys === undefined) return undefined;
  if (keys.length > 0) return { do: 'delete', keys };
  return seenAs === 'forgotten' ? { do: 'forget' } : undefined;
}

/** Longer than a replica needs for a batch of slow servers, ms: the process that fetched has died. */
export const FETCH_LOST_MS = 45 * 60_000;

const FETCH_LOST = 'The service was restarted while it fetched the file: send the request again.';

/** The URL is in no record: no other process can continue. Its upkeep ends here, as it has no order. */
function fetching({ now, record, aloneSince }: Seen): SweepAction | undefined {
  if (!isFetching(record)) return undefined;
  if (now - record.createdAt <= FETCH_LOST_MS && record.createdAt >= (aloneSince ?? 0)) return { do: 'wait' };
  return { do: 'fail', failed: fail(record, now, { reason: 'url_refused', message: FETCH_LOST, details: { retryable: true } }) };
}

/** Longer than attempts to store a result are made for, ms: no process can make one, unless one is under way. */
export const STORE_LOST_MS = 6 * 3_600_000;

/** It has no order. */
function storing({ now, record }: Seen): SweepAction | undefined {
  if (record.state !== 'storing') return undefined;
  const { begunAt, nextAt = 0 } = record.destination ?? {};
  const isUnderWay = begunAt !== undefined && nextAt > now;
  return isUnderWay || now - waitingSince(record) <= STORE_LOST_MS ? { do: 'wait' } : { do: 'fail', failed: giveUpStoring(record, now) };
}

/** Files of a job that will not be read again: the input once it has ended, and outputs of losing attempts. */
function leftovers({ record, keys = [] }: Seen): SweepAction | undefined {
  const unread = keys.filter(
    hasEnded(record)
      ? (key) => key !== record.output?.key
      : (key) => key !== record.recipe?.carried?.key && isLosing(key, record.id, record.attempt),
  );
  return unread.length === 0 ? undefined : { do: 'delete', keys: unread };
}

/** An attempt claims before it writes and keys are listed before records are read: an output without a known claim belongs to a losing attempt. */
function isLosing(key: string, jobId: string, attempt: string | undefined): boolean {
  return key.startsWith(outputKey(jobId, '')) && (attempt === undefined || key !== outputKey(jobId, attempt));
}

/** The API creates the record first and publishes then; a worker ends the record first and then the order. Neither takes this long, ms. */
export const LOST_AFTER_MS = 2 * ACK_WAIT_MS;

function lostOrder({ now, record, hasOrder, aloneSince }: Seen): SweepAction | undefined {
  if (hasOrder || isLeaving(record) || (record.state !== 'queued' && record.state !== 'running')) return undefined;
  const since = record.startedAt ?? waitingSince(record);
  // A process that was between the two steps before we had the stores to ourselves has died there.
  if (now - since <= LOST_AFTER_MS && since >= (aloneSince ?? 0)) return undefined;
  const { id: jobId, pool, lane } = record;
  // A holder that is alive after all loses only time: the next claim replaces its attempt.
  return { do: 'publish', order: { version: ORDER_VERSION, jobId, pool, lane } };
}

/** A job that waited too long ends, rather than run when its client has long left. */
function queueTimeout({ now, record, queueMs }: Seen): SweepAction | undefined {
  if (record.state !== 'queued' || now - waitingSince(record) <= queueMs) return undefined;
  return { do: 'fail', failed: failWaiting(record, now) };
}
