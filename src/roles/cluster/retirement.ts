/** A worker that has reached its number of conversions, or is asked to retire, ends by itself: it takes no more orders, and lets its running ones finish within their own limits. */
import type { Nats } from '../../nats/connection.ts';
import { subscribeRetire } from '../../pools/nats/retire.ts';
import type { Log } from '../../telemetry/log.ts';
import type { WorkerLoop } from '../../worker/orders/loop.ts';
import type { PresenceReporter } from '../../worker/presence.ts';

/** Each order has its own limit; this is the longest delay of a timer, ms. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/** @returns resolves when it holds no order, and will take none */
export async function retirement(
  nats: Nats,
  { pool, worker }: { readonly pool: string; readonly worker: string },
  { presence, workers, log }: { readonly presence: PresenceReporter; readonly workers: WorkerLoop; readonly log: Log },
): Promise<void> {
  const asked = Promise.withResolvers<string>();
  const unsubscribe = subscribeRetire(nats, pool, worker, () => asked.resolve('it was asked to'));
  const why = await Promise.race([presence.enough, asked.promise]);
  unsubscribe();
  log.info({ why }, 'the worker takes no more orders');
  presence.startDraining();
  await workers.drain(NO_LIMIT_MS);
}
