/** A catalog that changes while it is used: what pools can do is known from their workers, who come and go. */
import { type Catalog, createCatalog } from './catalog.ts';
import { engines } from './engines.gen.ts';

/** Versions by engine id, by pool. */
type Known = ReadonlyMap<string, { readonly engines: ReadonlyMap<string, string> }>;

/** @param known the same object as long as nothing changed */
export function liveCatalog(known: () => Known): () => Catalog {
  let of: Known | undefined;
  let catalog: Catalog | undefined;
  return () => {
    const now = known();
    if (catalog === undefined || of !== now) {
      of = now;
      catalog = catalogOf(now);
    }
    return catalog;
  };
}

/** An engine is there in those of its toolchains whose pool has it. */
function catalogOf(known: Known): Catalog {
  return createCatalog(
    engines.flatMap((engine) => {
      const toolchains = engine.toolchains.filter((toolchain) => known.get(toolchain)?.engines.has(engine.id));
      const versions = toolchains.map((toolchain) => known.get(toolchain)?.engines.get(engine.id) ?? '');
      return toolchains.length === 0 ? [] : [{ engine: { ...engine, toolchains }, version: versions[0] ?? '' }];
    }),
  );
}
