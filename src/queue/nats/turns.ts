/** When the backlog goes first: for an eighth of this process's working time, so that it always moves, but never takes every slot. */

import type { Delivery } from '../queue.ts';
import { BACKLOG } from './bands.ts';

/** For each ms of work on an order from the backlog, this many ms go to the other bands. */
const OTHERS = 7;

/** Turns of one pool, in one process. */
export interface PoolTurns {
  /** The band to pull from first; usually 0. */
  first(): number;
  /** Counts the time until the order is requeued or done. @param first what `first()` returned for it */
  timed(delivery: Delivery, first: number): Delivery;
}

/**
 * @param holdMs how long an order is held without an extension
 * @param now a monotonic clock, ms
 * @param random from 0 to 1: workers that take one order each must start differently
 */
export function newPoolTurns({
  holdMs,
  now,
  random,
}: {
  readonly holdMs: number;
  readonly now: () => number;
  readonly random: () => number;
}): PoolTurns {
  /** Working time still due to the other orders, ms. */
  let owedMs = random() * (OTHERS + 1) < 1 ? 0 : holdMs;
  /** Until when an order that went first is held, as far as is known. */
  let heldUntil = Number.NEGATIVE_INFINITY;
  let band = BACKLOG;

  return {
    first: () => (owedMs <= 0 && now() >= heldUntil ? band : 0),

    timed(delivery, first) {
      const began = now();
      let isOver = false;
      const goesFirst = first !== 0;
      const extended = () => {
        if (goesFirst && !isOver) heldUntil = now() + holdMs;
      };
      const end = () => {
        if (isOver) return;
        isOver = true;
        const tookMs = now() - began;
        if (!goesFirst) {
          owedMs -= tookMs;
          return;
        }
        heldUntil = Number.NEGATIVE_INFINITY;
        owedMs = tookMs * OTHERS;
        band = band === 1 ? BACKLOG : band - 1;
      };
      extended();
      return {
        ...delivery,
        async extend() {
          const held = await delivery.extend();
          if (held === 'held') extended();
          return held;
        },
        release(delayMs) {
          end();
          return delivery.release(delayMs);
        },
        giveWay() {
          end();
          return delivery.giveWay();
        },
        done() {
          end();
          return delivery.done();
        },
      };
    },
  };
}
