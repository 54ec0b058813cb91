/** What the controller needs from NATS: the depth of queues, the workers, and the declarations of pools. */
import type { Config } from '../../config.ts';
import { POOL_VERSION, type PoolClaim } from '../../contracts/messages/pool.ts';
import type { PoolsDeps } from '../../controller/pools/controller.ts';
import { openClock } from '../../nats/clock.ts';
import type { Nats } from '../../nats/connection.ts';
import { subscribe } from '../../nats/hints.ts';
import { claimPool, contenderOf } from '../../pools/nats/claims.ts';
import {
  declarePool,
  ensureRegistry,
  openDeclarations,
  publishPoolState,
  REGISTRY_STREAM,
  readPools,
  retractPool,
} from '../../pools/nats/declarations.ts';
import { openRegistry } from '../../pools/nats/registry.ts';
import { publishRetire } from '../../pools/nats/retire.ts';
import { subscribeWorkers } from '../../pools/nats/workers.ts';
import { ensurePool } from '../../queue/nats/pool.ts';
import { openNatsQueue } from '../../queue/nats/queue.ts';
import type { Log } from '../../telemetry/log.ts';

type PoolNats = Pick<
  PoolsDeps,
  'queue' | 'workers' | 'registry' | 'retire' | 'declare' | 'publishState' | 'retract' | 'declared' | 'contender' | 'onOrder' | 'heardSince'
>;

/**
 * @param nats stays open
 * @param scope of this controller and the others of its deployment: the owner of the pools that it declares
 * @throws Mismatch · Unavailable
 */
export async function openPoolNats(
  nats: Nats,
  { nats: settings, upkeep }: Config,
  { scope, log }: { readonly scope: () => string; readonly log: Log },
): Promise<PoolNats> {
  const claim = (uid?: string): PoolClaim => ({ version: POOL_VERSION, scope: scope(), ...(uid !== undefined && { uid }) });
  const bucket = openDeclarations(nats);
  const replicas = settings?.replicas ?? 1;
  await ensureRegistry(nats, replicas);
  // Times in the declarations that replicas read are those of NATS.
  const { now: clock } = await openClock(nats, REGISTRY_STREAM);
  const workers = subscribeWorkers(nats, clock);
  const report = (err: Error) => log.warn({ err }, 'pools could not be read');
  const registry = await openRegistry(nats, { workers, own: [], clock, report });
  let heardSince = performance.now();
  nats.onReconnect(() => {
    heardSince = performance.now();
  });
  return {
    queue: openNatsQueue(nats),
    workers,
    registry,
    retire: (pool, worker) => publishRetire(nats, pool, worker),
    async declare(declaration, uid) {
      // Without the name, do not touch its stream either.
      await claimPool(bucket, declaration.name, claim(uid));
      // A declared pool has a stream: replicas may publish to it at once.
      await ensurePool(nats, declaration.name, { capacity: upkeep.queueCapacity, replicas });
      await declarePool(nats, declaration, undefined, claim(uid));
    },
    publishState: (pool, degraded) => publishPoolState(nats, pool, degraded),
    retract: (pool) => retractPool(nats, pool, claim()),
    contender: async (pool) => (await contenderOf(bucket, pool))?.scope,
    declared: () => readPools(nats),
    onOrder: (callback) => subscribe(nats, 'convert', '>', (subject) => callback(subject.split('.')[0] ?? '')),
    heardSince: () => heardSince,
  };
}
