/** When the backlog goes first: for an eighth of the time that this process works, so that it never stands still, and is never in all hands. */

import type { Delivery } from '../queue.ts';
import { BACKLOG } from './bands.ts';

/** For each ms of work on an order that went before its turn, others are worked on for so long. */
const OTHERS = 7;

/** Of one pool, in one process. */
export interface Turns {
  /** The band that is asked first; 0 as a rule. */
  first(): number;
  /** Counts the time until the order is let go. @param first what `first` said for it */
  timed(delivery: Delivery, first: number): Delivery;
}

/**
 * @param holdMs for how long an order is held that nobody extends
 * @param now a clock that nobody sets, ms
 * @param random from 0 to 1: workers that take one order each must begin differently
 */
export function takeTurns({
  holdMs,
  now,
  random,
}: {
  readonly holdMs: number;
  readonly now: () => number;
  readonly random: () => number;
}): Turns {
  /** What others are still to get, ms. */
  let owedMs = random() * (OTHERS + 1) < 1 ? 0 : holdMs;
  /** Until when an order that went before its turn is held, as far as is known. */
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
        done() {
          end();
          return delivery.done();
        },
      };
    },
  };
}
