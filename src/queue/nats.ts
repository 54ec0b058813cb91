/** The queue in NATS JetStream: any number of processes publish and pull, and the servers keep the time of those who hold. */
import { randomUUID } from 'node:crypto';
import { type Lane, ORDER_VERSION, Order } from '../contracts/order.ts';
import type { Nats } from '../nats/connection.ts';
import { tokenOf } from '../nats/token.ts';
import { isFull, isSubjectTaken } from '../nats/unavailable.ts';
import { deliveryOf } from './delivery-nats.ts';
import { depthOf } from './depth-nats.ts';
import { nakFor } from './nak-nats.ts';
import { streamOf, subjectOf } from './pool-nats.ts';
import { ACK_WAIT_MS, type Delivery, type Queue } from './queue.ts';
import { replicationOver } from './replicas-nats.ts';
import { takerOver } from './take-nats.ts';

/** How long an order that only a newer worker understands is left for one, ms. */
const HAND_BACK_MS = 10_000;
/** Longest request, ms; the shortest is half of it, so that many workers do not ask at once. */
const EXPIRY_MS = 2_000;

/**
 * Its pools must be there: `ensurePool`.
 * @param nats stays open when the queue is closed
 * @param ackWaitMs as the pools' consumers have it
 * @throws Unavailable from every method, when NATS does not answer in time
 */
export function openQueue(nats: Nats, { ackWaitMs = ACK_WAIT_MS }: { readonly ackWaitMs?: number } = {}): Queue {
  const { client, manager, reach } = nats;
  const taker = takerOver(nats);
  const replicated = replicationOver(nats);
  const closing = new AbortController();

  const has = async (pool: string, jobId: string): Promise<boolean> => {
    const query = { last_by_subj: subjectOf(pool, '*', tokenOf(jobId)) };
    return (await reach('to look for an order', () => manager.streams.getMessage(streamOf(pool), query))) !== null;
  };

  /** An order from the first of these lanes that hands one out. Those that only a newer worker understands are passed by. */
  async function takeFrom(pool: string, lanes: readonly Lane[], waitMs: number, signal: AbortSignal): Promise<Delivery | undefined> {
    for (let wait = waitMs; !signal.aborted; wait = 0) {
      const handed = await reach('to pull an order', () => taker.take(pool, lanes, wait, signal));
      if (handed === undefined) return undefined;
      const order = understood(handed.text);
      if (order !== undefined) return deliveryOf(nats, handed, { stream: streamOf(pool), order, ackWaitMs, replicated });
      await reach('to hand an order back', () => handed.say(nakFor(HAND_BACK_MS)), 0);
    }
    return undefined;
  }

  return {
    async publish(order) {
      const { pool, lane, jobId } = order;
      const subject = subjectOf(pool, lane, tokenOf(jobId));
      // One for all attempts: where an answer was lost, the next gets the same one.
      const msgID = randomUUID();
      try {
        await reach('to publish an order', () => client.publish(subject, JSON.stringify(order), { msgID }));
        return 'accepted';
      } catch (error) {
        if (isSubjectTaken(error)) return 'duplicate';
        if (!isFull(error)) throw error;
        // A full stream may say so before it looks at the subject.
        return (await has(pool, jobId)) ? 'duplicate' : 'full';
      }
    },

    async pull(pool, lanes, waitMs, signal) {
      const stop = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]);
      const until = performance.now() + waitMs;
      for (;;) {
        // In their order first: of requests that wait, any may be answered first.
        for (const lane of lanes) {
          const delivery = await takeFrom(pool, [lane], 0, stop);
          if (delivery !== undefined) return delivery;
        }
        const left = until - performance.now();
        if (left <= 0 || stop.aborted) return undefined;
        const delivery = await takeFrom(pool, lanes, Math.min(left, EXPIRY_MS * (0.5 + Math.random() / 2)), stop);
        if (delivery !== undefined) return delivery;
      }
    },

    async remove(pool, jobId) {
      const filter = subjectOf(pool, '*', tokenOf(jobId));
      await reach('to remove an order', () => manager.streams.purge(streamOf(pool), { filter }));
    },

    has,

    async jobs(pool) {
      const ask = () => manager.streams.info(streamOf(pool), { subjects_filter: subjectOf(pool, '*', '*') });
      const { state } = await reach('to list orders', ask);
      return new Set(Object.keys(state.subjects ?? {}).map((subject) => subject.slice(subject.lastIndexOf('.') + 1)));
    },

    depth: (pool) => depthOf(nats, pool),

    /** Pulls that wait end without an order, and what was still on its way to them goes back. */
    async close() {
      closing.abort();
      await taker.settled();
    },
  };
}

/** Undefined for an order of a newer version, and for a damaged one, which a newer worker may yet make sense of. */
function understood(text: string): Order | undefined {
  try {
    const read = Order.safeParse(JSON.parse(text));
    return read.success && read.data.version <= ORDER_VERSION ? read.data : undefined;
  } catch {
    return undefined;
  }
}
