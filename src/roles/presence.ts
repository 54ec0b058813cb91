/** What a worker says of itself while it works, and when it has done enough. */
import { hostname } from 'node:os';
import { PRESENCE_VERSION, type Presence } from '../contracts/presence.ts';
import type { Nats } from '../nats/connection.ts';
import { sayPresence } from '../pools/nats.ts';

/** How often a worker says that it is there, ms. */
const PRESENCE_MS = 5_000;

export interface Present {
  /** An order is taken (1), or let go (-1). */
  turn(change: 1 | -1): void;
  mayTake(): boolean;
  /** Resolves when as many orders as it may take have been taken, and let go. */
  readonly done: Promise<void>;
  /** Says that no more will be taken. */
  leave(): void;
  /** Says no more. */
  end(): void;
}

/** @param mostOrders 0: any number */
export function present(nats: Nats, about: Pick<Presence, 'pool' | 'slots' | 'engines'>, mostOrders: number): Present {
  const host = hostname().replace(/[^A-Za-z0-9_-]/g, '-');
  const worker = `${host.slice(0, 40)}-${process.pid}`;
  const done = Promise.withResolvers<void>();
  let leaves = false;
  let busy = 0;
  let taken = 0;
  const say = () => {
    const state = leaves ? 'draining' : busy > 0 ? 'busy' : 'idle';
    sayPresence(nats, { version: PRESENCE_VERSION, worker, state, busy, ...about });
  };
  const mayTake = () => mostOrders === 0 || taken < mostOrders;
  const timer = setInterval(say, PRESENCE_MS);
  say();
  return {
    turn(change) {
      busy += change;
      if (change > 0) taken++;
      say();
      if (busy === 0 && !mayTake()) done.resolve();
    },
    mayTake,
    done: done.promise,
    leave() {
      leaves = true;
      say();
    },
    end: () => clearInterval(timer),
  };
}
