/** The engines of this machine, and its pools when it is the only one: one for each toolchain, in this process. */

import type { Catalog } from '../../catalog/catalog.ts';
import type { Engine } from '../../catalog/engine.ts';
import { defectSentence } from '../../contracts/messages/fault.ts';
import { forkingOf } from '../../contracts/messages/presence.ts';
import { type Toolchain, toolchains } from '../../contracts/toolchains.ts';
import type { Devices } from '../../exec/confine/devices.ts';
import type { Pool } from '../../pools/registry.ts';
import type { Converters } from './converters.ts';
import type { DevicesHere } from './devices.ts';

/** Versions by engine id, and which of them fork. */
export function enginesHere(catalog: Catalog, toolchain: Toolchain): ReadonlyMap<string, string> {
  const ids = catalog.engines.filter(({ toolchains: of }) => of.includes(toolchain)).map(({ id }) => id);
  const forking = ids.filter((id) => catalog.forks(id) === true);
  return new Map([...ids.map((id) => [id, catalog.version(id)] as const), ...forking.map((id) => [forkingOf(id), '1'] as const)]);
}

/** An engine that cannot be used, and why: the end of a sentence. */
export interface MissingEngine {
  readonly engine: Engine;
  readonly reason: string;
}

/** What these toolchains lack here: engines that are not installed, and those that do not work at present. */
export function missingHere(
  { toolbox, engineStates: { withdrawn } }: Pick<Converters, 'toolbox' | 'engineStates'>,
  those: readonly Toolchain[],
): readonly MissingEngine[] {
  const absent = toolbox.missing.map(({ engine }) => ({ engine, reason: 'it is not installed' }));
  const broken = toolbox.installed.flatMap(({ engine }) => {
    const defect = withdrawn.get(engine.id);
    return defect === undefined ? [] : [{ engine, reason: defectSentence(defect) }];
  });
  return [...absent, ...broken].filter(({ engine }) => engine.toolchains.some((toolchain) => those.includes(toolchain)));
}

/**
 * @param catalog as it is now @param slots by toolchain @param seenAt when the engines were checked, ms since the epoch
 * @param served the toolchains that have a pool: an order in any other would wait for ever
 * @returns the pools as they are now: the same object as long as the catalog is
 */
export function poolsHere(
  catalog: () => Catalog,
  slots: Readonly<Record<string, number>>,
  seenAt: number,
  devices: DevicesHere = new Map(),
  served: readonly Toolchain[] = toolchains,
): () => ReadonlyMap<string, Pool> {
  const byCatalog = new WeakMap<Catalog, ReadonlyMap<string, Pool>>();
  return () => {
    const now = catalog();
    const pools =
      byCatalog.get(now) ?? new Map(served.map((name) => [name, poolHere(now, name, slots[name] ?? 0, devices.get(name), seenAt)]));
    byCatalog.set(now, pools);
    return pools;
  };
}

function poolHere(catalog: Catalog, name: Toolchain, slots: number, devices: Devices | undefined, seenAt: number): Pool {
  const about = { paused: false, preference: 0, capacity: 0, busy: 0, degraded: false, waitMs: 0 };
  const workers = { workers: slots > 0 ? 1 : 0, isHeard: slots > 0, ...(devices && { devices: devices.counts }) };
  return { name, toolchain: name, ...about, ...workers, engines: enginesHere(catalog, name), seenAt };
}

/** What this machine can do now: each member is computed when it is read. */
export function catalogueHere(
  converters: Pick<Converters, 'catalog' | 'toolbox' | 'engineStates'>,
  served: readonly Toolchain[],
  pools: () => ReadonlyMap<string, Pool>,
) {
  return {
    get current() {
      return converters.catalog();
    },
    get missing() {
      return missingHere(converters, served);
    },
    get pools() {
      return pools();
    },
  };
}
