/** A catalog that changes while it is used: what pools can do is known from their workers, who come and go. */
import { type Catalog, createCatalog } from './catalog.ts';
import { engines } from './engines.gen.ts';

interface Able {
  readonly toolchain: string;
  /** Versions by engine id: the same object as long as they do not change. */
  readonly engines: ReadonlyMap<string, string>;
}

/** @param pools as they are now */
export function liveCatalog(pools: () => Iterable<Able>): () => Catalog {
  let of: readonly Able[] = [];
  let catalog: Catalog | undefined;
  return () => {
    const now = [...pools()];
    if (catalog === undefined || !same(of, now)) {
      of = now.map(({ toolchain, engines: able }) => ({ toolchain, engines: able }));
      catalog = catalogOf(of);
    }
    return catalog;
  };
}

/** An engine is there in those of its toolchains of which some pool has it. */
function catalogOf(pools: readonly Able[]): Catalog {
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

const same = (a: readonly Able[], b: readonly Able[]): boolean =>
  a.length === b.length &&
  b.every(({ toolchain, engines: able }, index) => a[index]?.toolchain === toolchain && a[index]?.engines === able);
