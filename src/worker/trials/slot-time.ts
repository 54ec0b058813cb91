/** Shares one slot between orders and trials: an order never waits for a trial, which is ended for it. */

export interface SlotTime {
  readonly isIdle: boolean;
  /** Ends a trial under way, and keeps others away until `work` has ended. */
  forOrder<T>(work: () => Promise<T>): Promise<T>;
  /** @param work begins at once; its signal is aborted when an order comes @returns undefined if the slot is not idle */
  forTrial<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Ends a trial under way, and begins none any more. */
  close(): Promise<void>;
}

export function slotTime(): SlotTime {
  let orders = 0;
  let closed = false;
  let trial: { readonly abort: AbortController; readonly ended: Promise<unknown> } | undefined;
  const endTrial = async (): Promise<void> => {
    trial?.abort.abort();
    await trial?.ended.catch(() => {});
  };
  return {
    get isIdle() {
      return orders === 0 && trial === undefined && !closed;
    },
    async forOrder(work) {
      orders++;
      try {
        await endTrial();
        return await work();
      } finally {
        orders--;
      }
    },
    async forTrial(work) {
      if (orders > 0 || trial !== undefined || closed) return undefined;
      const abort = new AbortController();
      const ended = work(abort.signal).finally(() => {
        trial = undefined;
      });
      trial = { abort, ended };
      return await ended;
    },
    async close() {
      closed = true;
      await endTrial();
    },
  };
}
