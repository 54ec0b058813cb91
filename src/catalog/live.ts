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

interface ReportingPool extends PoolEngines {
  /** Workers that it may scale up to. */
  readonly capacity: number;
  /** Time of its workers' last heartbeat; 0 if there was none. */
  readonly seenAt: number;
}

/**
 * What can be converted as soon as every pool has reported, supposing that each will have all engines of its toolchain; undefined where
 * nothing is awaited. A cluster that has just started, or whose store was lost, knows no engines yet, and no pools at first.
 * @param pools as they are now
 */
export function expectedCatalog(pools: () => Iterable<ReportingPool>): () => Catalog | undefined {
  let expected: readonly PoolEngines[] = [];
  const catalog = liveCatalog(() => expected);
  const isAwaited = ({ capacity, seenAt, engines: able }: ReportingPool) => capacity > 0 && seenAt === 0 && able.size === 0;
  return () => {
    const now = [...pools()];
    if (now.length > 0 && !now.some(isAwaited)) return undefined;
    expected =
      now.length === 0
        ? toolchains.map((toolchain) => ({ toolchain, engines: supposed(toolchain) }))
        : now.map((pool) => (isAwaited(pool) ? { toolchain: pool.toolchain, engines: supposed(pool.toolchain) } : pool));
    return catalog();
  };
}

const supposedOf = new Map<string, ReadonlyMap<string, string>>();

/** All engines of a toolchain, in versions that nobody knows yet. */
function supposed(toolchain: string): ReadonlyMap<string, string> {
  const before = supposedOf.get(toolchain);
  if (before !== undefined) return before;
  const all = engines.filter((engine) => engine.toolchains.some((its) => its === toolchain));
  const now = new Map(all.map(({ id }) => [id, '']));
  supposedOf.set(toolchain, now);
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
