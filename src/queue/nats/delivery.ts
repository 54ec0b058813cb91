/** An order in hand: the server takes any holder's word, so each holder keeps the time itself and is silent once it may have lost. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Order } from '../../contracts/messages/order.ts';
import type { Nats } from '../../nats/connection.ts';
import type { KeptMessage } from '../../nats/keep-alive/keep-alive.ts';
import type { Handed } from '../../nats/pull.ts';
import type { Delivery } from '../queue.ts';

/** An order that has been acked goes within milliseconds; one that does not goes some time, and nobody need wait for it. */
const LOOKS = 100;
const LOOK_MS = 2;

interface Held {
  readonly stream: string;
  readonly order: Order;
  readonly ackWaitMs: number;
  /** Whether several servers keep it. */
  readonly replicated: (stream: string) => Promise<boolean>;
}

export function deliveryOf(
  { manager, withRetry, keepAlive }: Nats,
  handed: Handed,
  { stream, order, ackWaitMs, replicated }: Held,
): Delivery {
  /** The server counts from when it handed the order out, or heard of us: later than we asked. */
  const leftSince = (asked: number) => asked + ackWaitMs - performance.now();
  const left = leftSince(handed.askedAt);
  const { isHeld, extend, letGo } = keepAlive?.hold(handed.ack, left, ackWaitMs) ?? keptHere(left);

  const isThere = async () =>
    (await withRetry('to look for an order', () => manager.streams.getMessage(stream, { seq: handed.seq }))) !== null;
  /** Whoever publishes next is to find its place free. One server takes an order out before it answers; replicas agree on the ack first. */
  const gone = async () => {
    if (!(await replicated(stream))) return;
    for (let looks = 0; looks < LOOKS && (await isThere()); looks++) await pause(LOOK_MS);
  };

  return {
    order,
    redelivered: handed.deliveries > 1,

    async extend() {
      if (!isHeld()) return 'gone';
      const asked = performance.now();
      await withRetry('to extend an order', () => handed.say('+WPI'));
      // Heard after our time was up, it may have prolonged another's.
      if (!isHeld()) return 'gone';
      extend(leftSince(asked));
      if (!(await isThere())) letGo();
      return isHeld() ? 'held' : 'gone';
    },

    /** Not repeated, for it could take the order from the next holder: unheard, the order lapses. */
    async release(delayMs) {
      if (!isHeld()) return;
      letGo();
      await withRetry('to give an order back', () => handed.say(nakFor(delayMs)), 0);
    },

    async done() {
      if (!isHeld()) return;
      letGo();
      await withRetry('to end an order', () => handed.say('+ACK'));
      await gone();
    },
  };
}

/** Where nobody else keeps it for us. */
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

/** @param delayMs after which it is handed out again */
export const nakFor = (delayMs: number): string => (delayMs > 0 ? `-NAK {"delay":${Math.ceil(delayMs) * 1_000_000}}` : '-NAK');
