/** Asks a worker to take no more orders: it finishes those that it holds, reports that it is drained, and exits. */
import type { Nats } from '../../nats/connection.ts';
import { publish, subscribe } from '../../nats/hints.ts';

const about = (pool: string): string => `retire.${pool}`;

/** A hint that may be lost: publish it again until the worker reports that it drains. */
export const publishRetire = (nats: Nats, pool: string, worker: string): void => publish(nats, about(pool), worker, '');

/** @returns unsubscribe */
export const subscribeRetire = (nats: Nats, pool: string, worker: string, callback: () => void): (() => void) =>
  subscribe(nats, about(pool), worker, callback);
