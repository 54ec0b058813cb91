/** The fetches of this process: clients share its places, and the process stops when they have ended. */
import type { FastifyInstance } from 'fastify';
import { Failure } from '../../errors.ts';
import { sourceShares } from './fetch-shares.ts';

/** Requests that one replica fetches for at a time; clients share them. */
const PLACES = 100;
/** After how long a client that found no place asks again, seconds. */
const NO_PLACE_SECONDS = 2;

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
    begin(client, work) {
      const free = shares.take(client);
      if (free !== undefined) return track(work().finally(free));
      throw new Failure('OVERLOADED', {
        says: 'The service is fetching as many files as it can: try again in a moment.',
        retryAfter: NO_PLACE_SECONDS,
      });
    },
  };
}
