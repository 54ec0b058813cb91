/** A held order: the server accepts acks of earlier holders too, so each holder tracks its own time and sends none once it may have lost it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Order } from '../../contracts/messages/order.ts';
import type { Nats } from '../../nats/connection.ts';
import type { KeptMessage } from '../../nats/keep-alive/keep-alive.ts';
import type { Handed } from '../../nats/pull.ts';
import type { Delivery } from '../queue.ts';

/** How often to check that an acked order is removed: it takes milliseconds, and if it takes longer, nobody need wait for it. */
const REMOVAL_CHECKS = 100;
const CHECK_MS = 2;

interface Held {
  readonly stream: string;
  readonly order: Order;
  readonly ackWaitMs: number;
  /** Whether several servers store the stream. */
  readonly replicated: (stream: string) => Promise<boolean>;
}

export function deliveryOf(
  { manager, withRetry, keepAlive }: Nats,
  handed: Handed,
  { stream, order, ackWaitMs, replicated }: Held,
): Delivery {
  /** What is left of the ack wait, ms. The server counts it from the delivery or the in-progress ack, so later than our request. */
  const leftSince = (asked: number) => asked + ackWaitMs - performance.now();
  const left = leftSince(handed.askedAt);
  const { isHeld, extend, letGo } = keepAlive?.hold(handed.ack, left, ackWaitMs) ?? keptHere(left);

  const isThere = async () =>
    (await withRetry('to look for an order', () => manager.streams.getMessage(stream, { seq: handed.seq }))) !== null;
  /** Waits until the next publisher finds room: one server removes the order before it responds, replicas agree on the ack first. */
  const removed = async () => {
    if (!(await replicated(stream))) return;
    for (let checks = 0; checks < REMOVAL_CHECKS && (await isThere()); checks++) await pause(CHECK_MS);
  };

  return {
    order,
    redelivered: handed.deliveries > 1,

    async extend() {
      if (!isHeld()) return 'gone';
      const asked = performance.now();
      await withRetry('to extend an order', () => handed.say('+WPI'));
      // Confirmed after our time was up, it may have extended another holder's.
      if (!isHeld()) return 'gone';
      extend(leftSince(asked));
      if (!(await isThere())) letGo();
      return isHeld() ? 'held' : 'gone';
    },

    /** Not repeated: a repeated nak could take the order from the next holder. If it is lost, the ack wait ends. */
    async release(delayMs) {
      if (!isHeld()) return;
      letGo();
      await withRetry('to give an order back', () => handed.say(nakFor(delayMs)), 0);
    },

    async done() {
      if (!isHeld()) return;
      letGo();
      await withRetry('to end an order', () => handed.say('+ACK'));
      await removed();
    },
  };
}

/** A holder's time without a keep-alive thread. */
function keptHere(leftMs: number): KeptMessage {
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

/** @param delayMs after which it is redelivered */
export const nakFor = (delayMs: number): string => (delayMs > 0 ? `-NAK {"delay":${Math.ceil(delayMs) * 1_000_000}}` : '-NAK');
