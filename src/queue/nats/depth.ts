/** How much waits in a pool's stream and how much is in hands, as its leader and its consumers count. */
import type { Nats } from '../../nats/connection.ts';
import { isNotFound } from '../../nats/unavailable.ts';
import type { Depth } from '../queue.ts';
import { allBands } from './bands.ts';
import { streamOf, subjectOf } from './pool.ts';

/**
 * What a silent holder lost, or gave back for later, counts as held until it is handed out again: the server does not tell them apart.
 * A consumer may sit on a replica that is behind: how many there are, the stream's leader says.
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
  // Both times are the servers'.
  const ages = nexts.flatMap((published) => (published === undefined ? [] : Math.max(0, now - published.getTime())));
  return { waiting: orders - held, held, oldestMs: ages.length === 0 ? undefined : Math.max(...ages) };
}

/** Undefined in a pool that an older filemill made: it has the first bands alone. */
const consumerOf = ({ manager }: Nats, stream: string, band: string) =>
  manager.consumers.info(stream, band).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

/** When the first order of a band was published that was not handed out yet. @param from its number, or a lower one */
async function next({ manager, withRetry }: Nats, pool: string, band: string, from: number): Promise<Date | undefined> {
  const query = { seq: from, next_by_subj: subjectOf(pool, band, '*') };
  return (await withRetry('to find the oldest order', () => manager.streams.getMessage(streamOf(pool), query)))?.time;
}
