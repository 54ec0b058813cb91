/** Mean duration of one order, from the totals in heartbeats. */

interface Tally {
  readonly ended: number;
  readonly busyMs: number;
}

/** Number of orders in the mean: beyond it, all earlier orders count half. */
const WINDOW = 400;

export function serviceTime() {
  const last = new Map<string, Tally>();
  let orders = 0;
  let ms = 0;
  return {
    /** @param worker its name; its totals only ever grow */
    note(worker: string, { ended, busyMs }: Tally): void {
      const before = last.get(worker) ?? { ended: 0, busyMs: 0 };
      if (ended <= before.ended) return;
      orders += ended - before.ended;
      ms += busyMs - before.busyMs;
      last.set(worker, { ended, busyMs });
      while (orders > WINDOW) {
        orders /= 2;
        ms /= 2;
      }
    },
    forget: (worker: string): void => void last.delete(worker),
    /** Undefined before the first order has ended. */
    mean: (): number | undefined => (orders === 0 ? undefined : ms / orders),
  };
}
