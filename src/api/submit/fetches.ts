/** The fetches of this process: clients or namespaces share its places, so that none ever holds all, and the process stops when they have ended. */
import type { FastifyInstance } from 'fastify';
import { Failure } from '../../errors.ts';

/** Requests that one replica fetches for at a time; clients share them. */
const PLACES = 100;

export interface Fetches {
  /** @throws Failure `OVERLOADED` where the client has its share of the places, or none is free · what the work throws */
  begin<T>(client: string, work: () => Promise<T>): Promise<T>;
  /** Work that must end before the stores are closed. */
  track<T>(work: Promise<T>): Promise<T>;
}

export function fetchesOf(app: FastifyInstance): Fetches {
  const shares = sourceShares(PLACES);
  const running = new Set<Promise<unknown>>();
  app.addHook('onClose', async () => {
    while (running.size > 0) await Promise.allSettled(running);
  });
  const track = <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
    return tracked;
  };
  return {
    track,
    begin: (client, work) => track(withPlace(shares, client, work)),
  };
}

/** After how long a client that found no place asks again, seconds. */
const NO_PLACE_SECONDS = 2;

export interface SourceShares {
  /** @returns a function that frees the place; undefined where the namespace has its share, or no place is free */
  take(namespace: string): (() => void) | undefined;
}

/**
 * Holds a place while the work lasts.
 * @throws Failure `OVERLOADED` where the client has its share of the places, or none is free; then the work has not begun · what the work throws
 */
export function withPlace<T>(shares: SourceShares, client: string, work: () => Promise<T>): Promise<T> {
  const free = shares.take(client);
  if (free !== undefined) return work().finally(free);
  throw new Failure('OVERLOADED', {
    says: 'The service is fetching as many files as it can: try again in a moment.',
    retryAfter: NO_PLACE_SECONDS,
  });
}

/**
 * A namespace may hold at most as many places as are free: alone half of them, two a quarter each, and one is left for a newcomer
 * until the sixth or so (dynamic thresholds: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998).
 */
export function sourceShares(places: number): SourceShares {
  const held = new Map<string, number>();
  let free = places;
  return {
    take(namespace) {
      const mine = held.get(namespace) ?? 0;
      if (mine >= free) return undefined;
      held.set(namespace, mine + 1);
      free--;
      let isFreed = false;
      return () => {
        if (isFreed) return;
        isFreed = true;
        free++;
        const rest = (held.get(namespace) ?? 1) - 1;
        if (rest === 0) held.delete(namespace);
        else held.set(namespace, rest);
      };
    },
  };
}
