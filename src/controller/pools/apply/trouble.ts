/** Publishes to API replicas that a pool's workers do not come up, so that they send orders to other pools. */
import type { PoolMemory } from '../memory.ts';
import { isComing, isServing, type Observation, type Trouble } from '../observation.ts';

/** @param degraded a reason of the condition `Degraded` @throws Unavailable */
export type PublishState = (pool: string, degraded: string | undefined) => Promise<void>;

/** A pool without orders starts no workers and so cannot show that it has recovered: after this long it receives orders again, ms. */
const RETRY_MS = 300_000;

interface Reconciled {
  readonly trouble: Trouble | undefined;
  readonly observed: Observation;
  readonly template: string;
  /** Ms since the epoch. */
  readonly now: number;
}

/** Trouble lasts until a worker takes orders, the template changes, or RETRY_MS has passed; an empty queue does not end it. */
export async function publishTrouble(
  { publishState }: { readonly publishState: PublishState },
  pool: string,
  reconciled: Reconciled,
  memory: PoolMemory,
): Promise<void> {
  const { trouble, observed, template, now } = reconciled;
  const isServed = observed.workers.some((worker) => isServing(worker) && !isComing(worker) && worker.unwell === undefined);
  const known = memory.trouble();
  if (trouble !== undefined && !isServed) memory.sawTrouble({ reason: trouble.reason, template, until: now + RETRY_MS });
  else if (isServed || known?.template !== template || now >= known.until) memory.sawTrouble(undefined);
  const reason = memory.trouble()?.reason;
  if (reason === memory.publishedTrouble()) return;
  const published = await publishState(pool, reason).then(
    () => true,
    // Published again at the next reconciliation; that NATS is unreachable is reported where the pool is declared.
    () => false,
  );
  if (published) memory.wasPublished(reason);
}
