/** Catalogs that follow what works: engines of this machine that fail and recover, and those of pools, whose workers come and go. */

import { defectSentence } from '../contracts/messages/fault.ts';
import { forkingOf } from '../contracts/messages/presence.ts';
import { type Toolchain, toolchains } from '../contracts/toolchains.ts';
import { type Catalog, createCatalog, type Installed } from './catalog.ts';
import { engines } from './engines.gen.ts';

/**
 * The catalog of one machine without the engines that do not work at present: another object only when these change.
 * @param why by engine id: why an engine is missing from the start @param withdrawn by engine id, the defect: another object after each change
 */
export function workingCatalog(
  installed: readonly Installed[],
  why: ReadonlyMap<string, string>,
  withdrawn: () => ReadonlyMap<string, string>,
): () => Catalog {
  let known: ReadonlyMap<string, string> | undefined;
  let catalog = createCatalog(installed, why);
  return () => {
    const now = withdrawn();
    if (known !== now) {
      known = now;
      if (now.size > 0 || catalog.engines.length < installed.length)
        catalog = createCatalog(
          installed.filter(({ engine }) => !now.has(engine.id)),
          new Map([
            ...why,
            ...installed.flatMap(({ engine: { id, name } }) => (now.has(id) ? [[id, doesNotWork(name, now.get(id))] as const] : [])),
          ]),
        );
    }
    return catalog;
  };
}

/** An engine of several toolchains is offered in those that are served: an order in any other would wait for ever. */
export const servedIn = (served: readonly Toolchain[], installed: readonly Installed[]): readonly Installed[] =>
  installed.map(({ engine, ...found }) => ({
    ...found,
    engine: { ...engine, toolchains: engine.toolchains.filter((toolchain) => served.includes(toolchain)) },
  }));

const doesNotWork = (name: string, defect = ''): string => `${name} does not work at present: ${defectSentence(defect)}`;

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
  readonly name: string;
  readonly paused: boolean;
  /** Workers that it may scale up to. */
  readonly capacity: number;
  /** Time of its workers' last heartbeat; 0 if there was none. */
  readonly seenAt: number;
}

/** Stands for the pools of a cluster that has none. */
const NONE = '';
/** How long workers that have yet to report are awaited, from the first question on, ms: a node and its images may have to come first. */
const AWAITED_MS = 15 * 60_000;
/** How long after a cluster's store was created its pools may be declared one after the other, ms. */
const NEW_MS = 2 * 60_000;

/**
 * The catalog as it would be if those who have yet to report their engines had all engines of their toolchains: pools that a controller scales,
 * and every toolchain where no pool is declared or the cluster is new. Undefined if no worker is awaited.
 * @param pools as they are now
 * @param createdAt of the cluster's store, ms since the epoch
 */
export function expectedCatalog(
  pools: () => Iterable<DeclaredPool>,
  { clock, createdAt }: { readonly clock: () => number; readonly createdAt: number },
): () => Catalog | undefined {
  let expected: readonly PoolEngines[] = [];
  const catalog = liveCatalog(() => expected);
  /** By name of a pool, or `NONE`: when it was first found missing. */
  let missing = new Map<string, number>();
  const hasReported = ({ seenAt, engines: able }: DeclaredPool) => seenAt > 0 || able.size > 0;
  return () => {
    const [now, declared] = [clock(), [...pools()]];
    const silent = declared.filter((pool) => pool.capacity > 0 && !pool.paused && !hasReported(pool));
    const names = declared.length === 0 ? [NONE] : silent.map(({ name }) => name);
    missing = new Map(names.map((name) => [name, missing.get(name) ?? now]));
    const isAwaited = (name: string) => now - (missing.get(name) ?? 0) < AWAITED_MS;

    const isOpen = now - createdAt < NEW_MS || isAwaited(NONE);
    const unreported = toolchains.filter((name) => !declared.some((pool) => pool.toolchain === name && hasReported(pool)));
    const ofPools = silent.filter(({ name }) => isAwaited(name)).map(({ toolchain }) => toolchain);
    const awaited = new Set([...ofPools, ...(isOpen ? unreported : [])]);
    if (awaited.size === 0) return undefined;
    expected = [...declared, ...[...awaited].map((toolchain) => ({ toolchain, engines: allEngines(toolchain) }))];
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
      const forks = able.every((pool) => pool.engines.has(forkingOf(engine.id)));
      return first === undefined ? [] : [{ engine: { ...engine, toolchains }, version, forks }];
    }),
  );
}

const same = (a: readonly PoolEngines[], b: readonly PoolEngines[]): boolean =>
  a.length === b.length &&
  b.every(({ toolchain, engines: able }, index) => a[index]?.toolchain === toolchain && a[index]?.engines === able);
