/** How many orders in a pool's stream wait and how many are held, by the counts of its leader and its consumers. */
import type { Nats } from '../../nats/connection.ts';
import { isNatsNotFound } from '../../nats/unavailable.ts';
import type { Depth } from '../queue.ts';
import { allBands } from './bands.ts';
import { streamOf, subjectOf } from './pool.ts';

/**
 * An order that a silent holder lost, or released with a delay, counts as held until it is redelivered: the server does not distinguish them.
 * A consumer may run on a replica that is behind, so the total is the stream leader's.
 */
export async function depthOf(nats: Nats, pool: string): Promise<Depth> {
  const stream = streamOf(pool);
  const [all, ...found] = await Promise.all([
    nats.withRetry('to count orders', () => nats.manager.streams.info(stream)),
    ...allBands.map((band) => nats.withRetry('to count orders', () => consumerOf(nats, stream, band))),
  ]);
  const consumers = found.filter((consumer) => consumer !== undefined);
  const orders = all.state.messages;
  const held = Math.min(
    orders,
    consumers.reduce((sum, { num_ack_pending }) => sum + num_ack_pending, 0),
  );
  if (orders === held) return { waiting: 0, held, oldestMs: undefined };
  const nexts = await Promise.all(consumers.map(({ name, delivered }) => next(nats, pool, name, delivered.stream_seq + 1)));
  const now = Date.parse(all.ts ?? '');
  // Both times are by the servers' clocks.
  const ages = nexts.flatMap((published) => (published === undefined ? [] : Math.max(0, now - published.getTime())));
  return { waiting: orders - held, held, oldestMs: ages.length === 0 ? undefined : Math.max(...ages) };
}

/** Undefined in a pool that an older filemill created: it has only the first bands. */
const consumerOf = ({ manager }: Nats, stream: string, band: string) =>
  manager.consumers.info(stream, band).catch((error: unknown) => {
    if (isNatsNotFound(error)) return undefined;
    throw error;
  });

/** When the first undelivered order of a band was published. @param from its sequence number, or a lower one */
async function next({ manager, withRetry }: Nats, pool: string, band: string, from: number): Promise<Date | undefined> {
  const query = { seq: from, next_by_subj: subjectOf(pool, band, '*') };
  return (await withRetry('to find the oldest order', () => manager.streams.getMessage(streamOf(pool), query)))?.time;
}
