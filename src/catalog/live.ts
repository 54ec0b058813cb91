/** A catalog that follows the pools: which engines they have is known from their workers, which come and go. */

import { toolchains } from '../contracts/toolchains.ts';
import { type Catalog, createCatalog } from './catalog.ts';
import { engines } from './engines.gen.ts';

interface PoolEngines {
  readonly toolchain: string;
  /** Versions by engine id: the same object as long as they do not change. */
  readonly engines: ReadonlyMap<string, string>;
}

/** @param pools as they are now */
export function liveCatalog(pools: () => Iterable<PoolEngines>): () => Catalog {
  let current: readonly PoolEngines[] = [];
  let catalog: Catalog | undefined;
  return () => {
    const now = [...pools()];
    if (catalog === undefined || !same(current, now)) {
      current = now.map(({ toolchain, engines: able }) => ({ toolchain, engines: able }));
      catalog = catalogOf(current);
    }
    return catalog;
  };
}

interface DeclaredPool extends PoolEngines {
  readonly paused: boolean;
  /** Workers that it may scale up to. */
  readonly capacity: number;
  /** Time of its workers' last heartbeat; 0 if there was none. */
  readonly seenAt: number;
  readonly degraded: boolean;
}

/**
 * The catalog as it would be if those who have yet to report their engines had all engines of their toolchains: pools for which a controller
 * starts workers, and every toolchain where no pool is declared or the cluster is new. Undefined where nobody is awaited.
 * @param pools as they are now
 * @param isNew whether pools may not be declared yet
 */
export function expectedCatalog(pools: () => Iterable<DeclaredPool>, isNew: () => boolean): () => Catalog | undefined {
  let expected: readonly PoolEngines[] = [];
  const catalog = liveCatalog(() => expected);
  const hasReported = ({ seenAt, engines: able }: DeclaredPool) => seenAt > 0 || able.size > 0;
  const isAwaited = (pool: DeclaredPool) => pool.capacity > 0 && !pool.paused && !pool.degraded && !hasReported(pool);
  return () => {
    const now = [...pools()];
    const awaited =
      now.length === 0 || isNew()
        ? toolchains.filter((name) => !now.some((pool) => pool.toolchain === name && hasReported(pool)))
        : now.filter(isAwaited).map(({ toolchain }) => toolchain);
    if (awaited.length === 0) return undefined;
    expected = [...now, ...awaited.map((toolchain) => ({ toolchain, engines: allEngines(toolchain) }))];
    return catalog();
  };
}

const known = new Map<string, ReadonlyMap<string, string>>();

/** All engines of a toolchain, with unknown versions. The same object each time. */
function allEngines(toolchain: string): ReadonlyMap<string, string> {
  const before = known.get(toolchain);
  if (before !== undefined) return before;
  const ofToolchain = engines.filter((engine) => engine.toolchains.some((its) => its === toolchain));
  const now = new Map(ofToolchain.map(({ id }) => [id, '']));
  known.set(toolchain, now);
  return now;
}

/** An engine is available in those of its toolchains that have a pool with it. */
function catalogOf(pools: readonly PoolEngines[]): Catalog {
  return createCatalog(
    engines.flatMap((engine) => {
      const able = pools.filter((pool) => pool.engines.has(engine.id));
      const toolchains = engine.toolchains.filter((toolchain) => able.some((pool) => pool.toolchain === toolchain));
      const [first] = toolchains;
      const version = able.find(({ toolchain }) => toolchain === first)?.engines.get(engine.id) ?? '';
      return first === undefined ? [] : [{ engine: { ...engine, toolchains }, version }];
    }),
  );
}

const same = (a: readonly PoolEngines[], b: readonly PoolEngines[]): boolean =>
  a.length === b.length &&
  b.every(({ toolchain, engines: able }, index) => a[index]?.toolchain === toolchain && a[index]?.engines === able);
