/** How many orders a client has in a pool, of those that this process published. */

/** Clients that are remembered; those that published longest ago are forgotten first. */
const MOST_CLIENTS = 10_000;
/** Orders of a client that are remembered: more than are needed to choose its band. */
const MOST_ORDERS = 16;
/** Orders of which it is remembered whose they are; those that were published first are forgotten first. */
const MOST_OWNED = 50_000;

interface Placed {
  readonly jobId: string;
  /** Undefined while it is being published. */
  stored?: boolean;
}

export interface PlacedOrders {
  /** @returns how many orders the client already has in the pool, up to `MOST_ORDERS`; call `settle` once this one is published or refused */
  place(pool: string, client: string, jobId: string): Promise<{ readonly ahead: number; settle(stored: boolean): void }>;
  /** Whether the client of this order has another one in the pool. */
  hasOthers(pool: string, jobId: string): Promise<boolean>;
}

/** @param isThere whether an order waits or is held; if it throws, the order counts as there */
export function placedOrders(isThere: (pool: string, jobId: string) => Promise<boolean>): PlacedOrders {
  const byClient = new Map<string, Placed[]>();
  /** The key in `byClient`, by pool and job. */
  const owners = new Map<string, string>();

  /** A client's orders usually end in the order in which they were published: checks the oldest ones until one is still there. */
  async function forgetEnded(pool: string, orders: Placed[]): Promise<void> {
    for (let checks = 0; checks < MOST_ORDERS; checks++) {
      const [oldest] = orders;
      if (oldest?.stored === undefined) return;
      if (oldest.stored && (await isThere(pool, oldest.jobId).catch(() => true))) return;
      if (orders[0] === oldest) orders.shift();
    }
  }

  return {
    async place(pool, client, jobId) {
      const key = `${pool} ${client}`;
      const orders = byClient.get(key) ?? [];
      const placed: Placed = { jobId };
      // Before any await: concurrent requests of a client must not all find that it has none.
      orders.push(placed);
      if (orders.length > MOST_ORDERS) orders.shift();
      byClient.delete(key);
      byClient.set(key, orders);
      owners.set(`${pool} ${jobId}`, key);
      for (const oldest of owners.keys()) {
        if (owners.size <= MOST_OWNED) break;
        owners.delete(oldest);
      }
      for (const oldest of byClient.keys()) {
        if (byClient.size <= MOST_CLIENTS) break;
        byClient.delete(oldest);
      }
      await forgetEnded(pool, orders);
      const settle = (stored: boolean) => {
        placed.stored = stored;
      };
      return { ahead: Math.max(0, orders.indexOf(placed)), settle };
    },

    async hasOthers(pool, jobId) {
      const orders = byClient.get(owners.get(`${pool} ${jobId}`) ?? '') ?? [];
      // The newest ones end last.
      for (const { jobId: other, stored } of orders.toReversed()) {
        if (other === jobId || stored === false) continue;
        if (stored === undefined || (await isThere(pool, other))) return true;
      }
      return false;
    },
  };
}
