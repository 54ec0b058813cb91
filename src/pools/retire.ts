/** Asks a worker to take no more orders: it ends what it holds, says that it is drained, and exits. */
import type { Nats } from '../nats/connection.ts';
import { hear, tell } from '../nats/hints.ts';

const about = (pool: string): string => `retire.${pool}`;

/** A hint, and may be lost: whoever means it says it again until the worker says that it drains. */
export const sayRetire = (nats: Nats, pool: string, worker: string): void => tell(nats, about(pool), worker, '');

/** @returns the end of it */
export const hearRetire = (nats: Nats, pool: string, worker: string, callback: () => void): (() => void) =>
  hear(nats, about(pool), worker, callback);
