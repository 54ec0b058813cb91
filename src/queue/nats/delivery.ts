/** A held order: the server accepts acks of earlier holders too, so each holder tracks its own time and sends none once it may have lost it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Order } from '../../contracts/messages/order.ts';
import type { Nats } from '../../nats/connection.ts';
import type { MessageLease } from '../../nats/keep-alive/keep-alive.ts';
import { nakFor, type PulledMessage } from '../../nats/pull.ts';
import type { Delivery } from '../queue.ts';
import { lastBand } from './bands.ts';
import { subjectOf } from './pool.ts';

/** How often to check that an acked order is removed: it takes milliseconds; if it takes longer, the caller does not wait. */
const REMOVAL_CHECKS = 100;
const CHECK_MS = 2;

interface DeliverySettings {
  readonly stream: string;
  readonly order: Order;
  /** Whether its client has other orders. */
  readonly isOneOfSeveral: () => Promise<boolean>;
  /** The bands in which orders wait for a slot such as this order's. */
  readonly waiters: readonly string[];
  /** How long each message of its holder keeps it held. */
  readonly ackWaitMs: number;
  /** How long the server waits for the first message. */
  readonly unheardMs: number;
  /** Whether several servers store the stream. */
  readonly replicated: (stream: string) => Promise<boolean>;
}

export function deliveryOf(
  { client, manager, withRetry, keepAlive }: Nats,
  message: PulledMessage,
  { stream, order, isOneOfSeveral, waiters, ackWaitMs, unheardMs, replicated }: DeliverySettings,
): Delivery {
  /** What is left of the time that it is held for, ms. The server counts it from when it hears us, so later than our request. */
  const leftSince = (asked: number) => asked + ackWaitMs - performance.now();
  const isRedelivered = message.deliveries > 1;
  const left = message.since + Math.min(unheardMs, ackWaitMs) - performance.now();
  const keepFor = (leftMs: number) => keepAlive?.hold(message.ack, leftMs, ackWaitMs) ?? keptHere(leftMs);
  let kept = keepFor(left);
  const isHeld = () => kept.isHeld();

  let isOver = false;
  /** @returns what is left then, ms */
  const askToHold = async (): Promise<number> => {
    const asked = performance.now();
    await withRetry('to hold an order', async () => {
      if (!isOver) await message.say(nakFor(ackWaitMs));
    });
    return leftSince(asked);
  };
  /** Confirmed after our time was up, it may have extended another holder's. */
  const sayHeld = async () => {
    const leftMs = await askToHold();
    if (isHeld()) kept.extend(leftMs);
  };
  /** An order that is gone is removed, or another's. */
  const letGoUnlessThere = async () => {
    if (!(await isThere())) kept.letGo();
  };
  // The first extension. If it arrives late, it extends the order for its present holder. If it fails, `extend` throws.
  void sayHeld().catch(() => {});

  const isThere = async () =>
    (await withRetry('to look for an order', () => manager.streams.getMessage(stream, { seq: message.seq }))) !== null;
  /** Waits until the next publisher finds room: one server removes the order before it responds, replicas agree on the ack first. */
  const removed = async () => {
    if (!(await replicated(stream))) return;
    for (let checks = 0; checks < REMOVAL_CHECKS && (await isThere()); checks++) await pause(CHECK_MS);
  };

  const end = async () => {
    isOver = true;
    if (!isHeld()) return;
    kept.letGo();
    await withRetry('to end an order', () => message.say('+ACK'));
    await removed();
  };

  return {
    order,
    redelivered: isRedelivered,
    late: left <= 0,
    contested: isRedelivered,

    async extend() {
      if (!isHeld()) return 'gone';
      await sayHeld();
      if (isHeld()) await letGoUnlessThere();
      return isHeld() ? 'held' : 'gone';
    },

    async regain() {
      const leftMs = await askToHold();
      if (isOver) return;
      kept.letGo();
      kept = keepFor(leftMs);
      await letGoUnlessThere();
    },

    forgo() {
      isOver = true;
      kept.letGo();
    },

    /** Not repeated: a repeated nak could take the order from the next holder. If it is lost, the ack wait ends. */
    async release(delayMs) {
      isOver = true;
      if (!isHeld()) return;
      kept.letGo();
      await withRetry('to requeue an order', () => message.say(nakFor(delayMs)), 0);
    },

    /** An order that was delivered before counts as held, even if it waits: the counts are of those that were never delivered. */
    async isWaitedFor() {
      const look = (band: string) => withRetry('to see who waits', () => manager.consumers.info(stream, band), 0);
      const consumers = await Promise.all(waiters.map(look));
      return consumers.some(({ num_pending }) => num_pending > 0);
    },

    isOneOfSeveral,

    /** Published again, as an order cannot change its band. If this worker dies in between, upkeep publishes the order that is missing. */
    async giveWay() {
      if (!isHeld()) return;
      await end();
      const { pool, jobId } = order;
      const expect = { lastSubjectSequence: 0, lastSubjectSequenceSubject: subjectOf(pool, '*', jobId) };
      await client.publish(subjectOf(pool, lastBand, jobId), JSON.stringify({ ...order, lane: 'bulk' }), { expect });
    },

    done: end,
  };
}

/** A holder's time without a keep-alive thread. */
function keptHere(leftMs: number): MessageLease {
  let heldUntil = performance.now() + leftMs;
  return {
    isHeld: () => performance.now() < heldUntil,
    extend(left) {
      heldUntil = performance.now() + left;
    },
    letGo() {
      heldUntil = Number.NEGATIVE_INFINITY;
    },
  };
}
