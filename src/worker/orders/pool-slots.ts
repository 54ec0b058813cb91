/** The slots of one pool in this process: the first that is free takes the next order, and the express slot takes orders while all others are busy. */
import { onAbort } from '../../streams/abort.ts';

/** Between two orders of one client all slots may be busy for a moment: the next order is not for a slot whose programs have yet to start. */
const BUSY_FOR_MS = 150;

export interface PoolSlots {
  /** Adds a slot, other than the express slot, behind those added before. */
  enter(): SlotTurn;
  /** Resolves when all slots have held an order for a while, or on abort. */
  untilFull(signal: AbortSignal): Promise<void>;
}

/**
 * The turn of one slot. Orders that come one at a time all go to the first slot, whose programs are warm after the first of them; if they went
 * around, each slot's first order would wait for LibreOffice to start.
 */
export interface SlotTurn {
  /**
   * The slot wants an order. Resolves when no earlier slot wants one, or on abort.
   * @returns for the pull: aborted with `signal`, and when an earlier slot wants an order again
   */
  next(signal: AbortSignal): Promise<AbortSignal>;
  /** The slot holds an order, until what is returned is disposed of. */
  occupy(): Disposable;
  /** The slot wants no order for now. */
  leave(): void;
}

/** @param count without the express slot */
export function poolSlots(count: number): PoolSlots {
  let busy = 0;
  let entered = 0;
  let full = Promise.withResolvers<void>();
  /** Places of the slots that want an order, the next change to that, and those whose turn it is. */
  const wanting = new Set<number>();
  const turns = new Map<number, AbortController>();
  let changed = Promise.withResolvers<void>();

  const leave = (place: number): void => {
    turns.delete(place);
    if (!wanting.delete(place)) return;
    changed.resolve();
    changed = Promise.withResolvers();
  };

  return {
    enter() {
      const place = entered++;
      return {
        async next(signal) {
          wanting.add(place);
          for (const [other, turn] of turns) if (other > place) turn.abort();
          while (!signal.aborted && [...wanting].some((other) => other < place)) await orAbort(changed.promise, signal);
          const turn = new AbortController();
          turns.set(place, turn);
          return AbortSignal.any([signal, turn.signal]);
        },
        occupy() {
          leave(place);
          if (++busy === count) full.resolve();
          return {
            [Symbol.dispose]() {
              if (busy-- === count) full = Promise.withResolvers();
            },
          };
        },
        leave: () => leave(place),
      };
    },
    async untilFull(signal) {
      for (let since: unknown; !signal.aborted; ) {
        await orAbort(full.promise, signal);
        if (since === full) break;
        since = full;
        await orAbort(new Promise((resolve) => setTimeout(resolve, BUSY_FOR_MS)), signal);
      }
    },
  };
}

/** Each race has a new promise of the abort: one that lasts as long as the slot waits would keep every race. */
async function orAbort(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = onAbort(signal, () => resolve());
  await Promise.race([work, promise]);
  unsubscribe();
}
