/** A pool's queue of orders as a JetStream work queue: its subjects, its stream, and a consumer for each band of its lanes. */
import type { Nats } from '../../nats/connection.ts';
import { ensureConsumer, ensureStream } from '../../nats/ensure.ts';
import { tokenOf } from '../../nats/token.ts';
import { allBands } from './bands.ts';

export const streamOf = (pool: string): string => `convert-${tokenOf(pool)}`;
/** @param band of `bandOf`; `*` any */
export const subjectOf = (pool: string, band: string, jobId: string): string => `convert.${tokenOf(pool)}.${band}.${jobId}`;

/** Pulls that may wait at one consumer: one for each idle slot, and those of workers that died within the last seconds. */
const MAX_WAITING = 10_000;
/**
 * How long a delivered order waits for the first word of its receiver, ms. That word holds it for `ACK_WAIT_MS`; a frozen receiver says nothing,
 * and the order goes to another. The same happens if the receiver was only late: it then claims no job that another worker runs.
 */
export const UNHEARD_MS = 700;
/** Longest pull, ms: none may outlive the time in which the server notices that its sender is dead. */
const MAX_EXPIRES_MS = 15_000;
const NANOS = 1_000_000;

interface QueueSpec {
  /** Orders, waiting and held together. */
  readonly capacity: number;
  /** 1, 3 or 5. */
  readonly replicas: number;
  readonly unheardMs?: number;
}

/** @throws Mismatch · Unavailable */
export async function ensurePool(nats: Nats, pool: string, { capacity, replicas, unheardMs = UNHEARD_MS }: QueueSpec): Promise<void> {
  const stream = streamOf(pool);
  await ensureStream(nats, {
    name: stream,
    subjects: [subjectOf(pool, '*', '*')],
    retention: 'workqueue',
    storage: 'file',
    num_replicas: replicas,
    max_msgs: capacity,
    discard: 'new',
    // A second order of a job that waits or runs is refused.
    max_msgs_per_subject: 1,
    discard_new_per_subject: true,
    max_msg_size: 4_096,
  });
  for (const band of allBands) {
    await ensureConsumer(nats, stream, {
      durable_name: band,
      filter_subject: subjectOf(pool, band, '*'),
      deliver_policy: 'all',
      ack_policy: 'explicit',
      ack_wait: unheardMs * NANOS,
      // It counts deliveries, not crashes: an order must survive workers that froze or were drained.
      max_deliver: -1,
      max_ack_pending: capacity,
      max_waiting: MAX_WAITING,
      max_expires: MAX_EXPIRES_MS * NANOS,
    });
  }
}
