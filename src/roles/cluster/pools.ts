/** The pools that an API replica routes to: those that it declares, those that others declare, and their workers. */
import type { Config } from '../../config.ts';
import { POOL_VERSION, type PoolDeclaration } from '../../contracts/messages/pool.ts';
import type { Nats } from '../../nats/connection.ts';
import { Contrary } from '../../pools/nats/declarations.ts';
import { keepDeclared } from '../../pools/nats/declaring.ts';
import { openRegistry } from '../../pools/nats/registry.ts';
import { subscribeWorkers } from '../../pools/nats/workers.ts';
import type { Registry } from '../../pools/registry.ts';
import { countOrders } from '../../pools/waiting.ts';
import { depthOf } from '../../queue/nats/depth.ts';
import type { Log } from '../../telemetry/log.ts';
import { CannotStart } from '../process/cannot-start.ts';

/** The pools that replicas declare from their configuration. */
export const ownPools = ({ source, list }: Config['pools']): readonly PoolDeclaration[] =>
  source === 'controller' ? [] : list.map((pool) => ({ version: POOL_VERSION, paused: false, lapses: true, ...pool }));

/** @param clock ms since the epoch @throws CannotStart where a pool is declared differently · Unavailable */
export async function openPools(nats: Nats, settings: Config['pools'], log: Log, clock: () => number): Promise<Registry> {
  const own = ownPools(settings);
  const report = (err: Error) => log.warn({ err }, 'pools could not be read or declared');
  const endDeclaring = await keepDeclared(nats, own, report).catch((error: unknown) => {
    throw error instanceof Contrary ? new CannotStart(error.message, { cause: error }) : error;
  });
  const workers = subscribeWorkers(nats, clock);
  let opened: Registry | undefined;
  const counts = countOrders(
    () => opened?.pools().values() ?? [],
    async (pool) => (await depthOf(nats, pool)).waiting,
  );
  const registry = await openRegistry(nats, { workers, own, clock, waiting: counts.waiting, report });
  opened = registry;
  return {
    pools: registry.pools,
    removed: registry.removed,
    async close() {
      await counts.close();
      endDeclaring();
      workers.close();
      await registry.close();
    },
  };
}
