/** A catalog that follows the pools: which engines they have is known from their workers, which come and go. */
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
