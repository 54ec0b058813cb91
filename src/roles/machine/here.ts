/** The engines of this machine, and its pools when it is the only one: one for each toolchain, in this process. */

import type { Catalog } from '../../catalog/catalog.ts';
import { type Toolchain, toolchains } from '../../contracts/toolchains.ts';
import type { Pool } from '../../pools/registry.ts';

/** Versions by engine id. */
export const enginesHere = (catalog: Catalog, toolchain: Toolchain): ReadonlyMap<string, string> =>
  new Map(catalog.engines.filter(({ toolchains: of }) => of.includes(toolchain)).map(({ id }) => [id, catalog.version(id)]));

/** @param slots by toolchain @param seenAt when the engines were checked, ms since the epoch */
export function poolsHere(catalog: Catalog, slots: Readonly<Record<string, number>>, seenAt: number): ReadonlyMap<string, Pool> {
  return new Map(
    toolchains.map((name) => {
      const engines = enginesHere(catalog, name);
      const workers = (slots[name] ?? 0) > 0 ? 1 : 0;
      const about = { paused: false, preference: 0, capacity: 0, workers, busy: 0, degraded: false, waitMs: 0 };
      return [name, { name, toolchain: name, ...about, engines, seenAt }];
    }),
  );
}
