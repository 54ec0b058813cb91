/** The slots of one pool in this process: its express slot takes orders while all others are busy. */
import { onAbort } from '../streams/abort.ts';

/** Between two orders of one client all slots may be busy for a moment: the next order is not for a slot whose programs have yet to start. */
const BUSY_FOR_MS = 150;

export interface PoolSlots {
  /** A slot other than the express slot holds an order. @returns to be called when it holds none any more */
  occupy(): () => void;
  /** Resolves when all slots have held an order for a while, or on abort. */
  untilFull(signal: AbortSignal): Promise<void>;
}

/** @param count without the express slot */
export function poolSlots(count: number): PoolSlots {
  let busy = 0;
  let full = Promise.withResolvers<void>();
  return {
    occupy() {
      if (++busy === count) full.resolve();
      return () => {
        if (busy-- === count) full = Promise.withResolvers();
      };
    },
    async untilFull(signal) {
      const aborted = Promise.withResolvers<void>();
      const unsubscribe = onAbort(signal, () => aborted.resolve());
      for (let since: unknown; !signal.aborted; ) {
        await Promise.race([full.promise, aborted.promise]);
        if (since === full) break;
        since = full;
        await Promise.race([new Promise((resolve) => setTimeout(resolve, BUSY_FOR_MS)), aborted.promise]);
      }
      unsubscribe();
    },
  };
}
