/** The queue in NATS JetStream: any number of processes publish and pull, and the servers time the holders. */
import { randomUUID } from 'node:crypto';
import { ORDER_VERSION, Order } from '../../contracts/messages/order.ts';
import type { Nats } from '../../nats/connection.ts';
import { nakFor } from '../../nats/pull.ts';
import { tokenOf } from '../../nats/token.ts';
import { isFull, isRevisionConflict, isSubjectTaken } from '../../nats/unavailable.ts';
import { ACK_WAIT_MS, type Delivery, type Queue } from '../queue.ts';
import { bandFor, bandOf, bandsOf, firstBands, laterBands, OWN, smallBands } from './bands.ts';
import { deliveryOf } from './delivery.ts';
import { depthOf } from './depth.ts';
import { placedOrders } from './placed.ts';
import { streamOf, subjectOf, UNHEARD_MS } from './pool.ts';
import { replicationOver } from './replicas.ts';
import { answerSeveral, askSeveral } from './several.ts';
import { takerOver } from './take.ts';
import { newPoolTurns, type PoolTurns } from './turns.ts';

/** How long an order that only a newer worker can read is delayed, for one to take it, ms. */
const HAND_BACK_MS = 10_000;
/** Longest pull, ms; the shortest is half of it, so that many workers do not pull at the same time. */
const EXPIRY_MS = 2_000;
const someExpiryMs = () => EXPIRY_MS * (0.5 + Math.random() / 2);

const MESSAGE_ID = 'Nats-Msg-Id';

/** What all workers of a pool pull from: the bands that have the lanes' own names, those of an order's number, or those of its size too. */
export type Known = 'lanes' | 'numbers' | 'sizes';

interface Settings {
  readonly ackWaitMs?: number;
  readonly unheardMs?: number;
  readonly knows?: (pool: string) => Known;
  readonly random?: () => number;
}

/**
 * Its pools must exist: `ensurePool`.
 * @param nats stays open when the queue is closed
 * @param ackWaitMs for how long each word of its holder holds an order
 * @param unheardMs as set on the pools' consumers
 * @param knows from which bands all workers of a pool pull: orders go to no others
 * @param random from 0 to 1, below 1
 * @throws Unavailable from every method, if NATS does not respond in time
 */
export function openNatsQueue(
  nats: Nats,
  { ackWaitMs = ACK_WAIT_MS, unheardMs = UNHEARD_MS, knows = () => 'sizes', random = Math.random }: Settings = {},
): Queue {
  const { client: jetstream, manager, withRetry } = nats;
  const taker = takerOver(nats);
  const replicated = replicationOver(nats);
  const closing = new AbortController();

  const turnsByPool = new Map<string, PoolTurns>();
  const turnsOf = (pool: string): PoolTurns => {
    const turns = turnsByPool.get(pool) ?? newPoolTurns({ holdMs: ackWaitMs, now: () => performance.now(), random });
    turnsByPool.set(pool, turns);
    return turns;
  };

  const untilClosed = (signal: AbortSignal | undefined) =>
    signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]);

  const lookUp = (pool: string, jobId: string) =>
    manager.streams.getMessage(streamOf(pool), { last_by_subj: subjectOf(pool, '*', tokenOf(jobId)) });
  // Not retried: publishing must not wait for it.
  const placed = placedOrders(async (pool, jobId) => (await lookUp(pool, jobId)) !== null);

  /** Only of a process that publishes. */
  let unsubscribe: (() => void) | undefined;

  const has = async (pool: string, jobId: string): Promise<boolean> => {
    return (await withRetry('to look for an order', () => lookUp(pool, jobId))) !== null;
  };

  /**
   * An order from the first of these bands that delivers one. Orders that only a newer worker can read are skipped.
   * @param waiters where orders wait for a slot such as this one's
   */
  async function takeFrom(
    pool: string,
    { bands, waiters = firstBands }: { readonly bands: readonly string[]; readonly waiters?: readonly string[] },
    waitMs: number,
    signal: AbortSignal,
  ): Promise<Delivery | undefined> {
    for (let wait = waitMs; !signal.aborted; wait = 0) {
      const message = await withRetry('to pull an order', () => taker.take(pool, bands, wait, signal));
      if (message === undefined) return undefined;
      const order = orderIn(message.text);
      // Only of a client's first order its band does not tell.
      const isOneOfSeveral = async () => laterBands.has(message.consumer) || (order !== undefined && askSeveral(nats, pool, order.jobId));
      if (order !== undefined)
        return deliveryOf(nats, message, { stream: streamOf(pool), order, isOneOfSeveral, waiters, ackWaitMs, unheardMs, replicated });
      await withRetry('to requeue an order', () => message.say(nakFor(HAND_BACK_MS)), 0);
    }
    return undefined;
  }

  return {
    async publish(order, { client, isSmall = false } = {}) {
      const { pool, lane, jobId } = order;
      if (client !== undefined) unsubscribe ??= answerSeveral(nats, placed.hasOthers);
      const place = client === undefined ? undefined : await placed.place(pool, client, jobId);
      const known = knows(pool);
      const band = place !== undefined && known !== 'lanes' ? bandFor(place.ahead, isSmall && known === 'sizes') : OWN;
      const subject = subjectOf(pool, bandOf(lane, band), tokenOf(jobId));
      // No band may have an order of this job.
      const expect = { lastSubjectSequence: 0, lastSubjectSequenceSubject: subjectOf(pool, '*', jobId) };
      let isStored = true;
      let attempts = 0;
      // The same for all attempts: if a response was lost, the next attempt gets the same one.
      const msgID = randomUUID();
      try {
        await withRetry('to publish an order', () => {
          attempts++;
          return jetstream.publish(subject, JSON.stringify(order), { msgID, expect });
        });
        return 'accepted';
      } catch (error) {
        if (isRevisionConflict(error) || isSubjectTaken(error)) {
          // Perhaps of our own earlier attempt: a single server checks for other orders of the job before it checks message ids.
          const found = attempts > 1 ? await withRetry('to look for an order', () => lookUp(pool, jobId)) : null;
          return found?.header.get(MESSAGE_ID) === msgID ? 'accepted' : 'duplicate';
        }
        if (!isFull(error)) throw error;
        // A full stream may report that before it checks the subject.
        isStored = await has(pool, jobId);
        return isStored ? 'duplicate' : 'full';
      } finally {
        place?.settle(isStored);
      }
    },

    async pull(pool, lanes, waitMs, signal) {
      const stop = untilClosed(signal);
      const until = performance.now() + waitMs;
      const turns = turnsOf(pool);
      const all = lanes.flatMap((lane) => bandsOf(lane));
      for (;;) {
        const first = turns.first();
        // First one by one, in order: of pulls that wait, any may be answered first.
        for (const band of lanes.flatMap((lane) => bandsOf(lane, first))) {
          const delivery = await takeFrom(pool, { bands: [band] }, 0, stop);
          if (delivery !== undefined) return turns.timed(delivery, first);
        }
        const left = until - performance.now();
        if (left <= 0 || stop.aborted) return undefined;
        const delivery = await takeFrom(pool, { bands: all }, Math.min(left, someExpiryMs()), stop);
        if (delivery !== undefined) return turns.timed(delivery, 0);
      }
    },

    async pullExpress(pool, waitMs, signal) {
      const stop = untilClosed(signal);
      const until = performance.now() + waitMs;
      for (;;) {
        for (const band of smallBands) {
          const delivery = await takeFrom(pool, { bands: [band], waiters: smallBands }, 0, stop);
          if (delivery !== undefined) return delivery;
        }
        const left = until - performance.now();
        if (left <= 0 || stop.aborted) return undefined;
        const delivery = await takeFrom(pool, { bands: smallBands, waiters: smallBands }, Math.min(left, someExpiryMs()), stop);
        if (delivery !== undefined) return delivery;
      }
    },

    async remove(pool, jobId) {
      const filter = subjectOf(pool, '*', tokenOf(jobId));
      await withRetry('to remove an order', () => manager.streams.purge(streamOf(pool), { filter }));
    },

    has,

    async jobs(pool) {
      const ask = () => manager.streams.info(streamOf(pool), { subjects_filter: subjectOf(pool, '*', '*') });
      const { state } = await withRetry('to list orders', ask);
      return new Set(Object.keys(state.subjects ?? {}).map((subject) => subject.slice(subject.lastIndexOf('.') + 1)));
    },

    depth: (pool) => depthOf(nats, pool),

    /** Waiting pulls end without an order, and orders still on their way to them are released. */
    async close() {
      closing.abort();
      unsubscribe?.();
      await taker.settled();
    },
  };
}

/** Undefined for an order of a newer version, and for a damaged one, which a newer worker may be able to read. */
function orderIn(text: string): Order | undefined {
  try {
    const read = Order.safeParse(JSON.parse(text));
    return read.success && read.data.version <= ORDER_VERSION ? read.data : undefined;
  } catch {
    return undefined;
  }
}
