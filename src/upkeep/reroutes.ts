/** Pools that orders have to leave, and their destination: removed pools, and pools without workers. Pure. */
import { type Pool, poolsFor, type RemovedPool, serves } from '../pools/registry.ts';

/** Remembered from one check to the next: since when each pool is to be left, ms since the epoch. */
export type Since = ReadonlyMap<string, number>;

export interface Reroute {
  readonly from: string;
  /** Undefined: no pool can do what this one could, or none has workers. */
  readonly to: string | undefined;
  /** Jobs without a destination end now. */
  readonly ends: boolean;
  /** No worker is left that could hold one of its orders. */
  readonly deserted: boolean;
  /** Jobs that were moved before stay: two pools that fail in turn would pass them back and forth. */
  readonly onceOnly: boolean;
}

/** Workers restart, and heartbeats may be late: how long a pool must have had no workers before its orders move, ms. */
export const UNSERVED_MS = 15_000;
/** Renaming a pool takes two requests, a removal and a declaration: how long to wait for the second, ms. */
export const RENAMED_MS = 10_000;
/** A worker that stopped reporting may hold its order for this long after its last heartbeat expired, ms. */
export const DESERTED_MS = 60_000;

interface Pools {
  readonly pools: ReadonlyMap<string, Pool>;
  readonly removed: ReadonlyMap<string, RemovedPool>;
}

/** @param now ms since the epoch */
export function findReroutes(
  { pools, removed }: Pools,
  before: Since,
  now: number,
): { readonly ways: readonly Reroute[]; readonly since: Since } {
  const left = new Map<string, number>();
  const lastsFor = (key: string) => {
    const since = before.get(key) ?? now;
    left.set(key, since);
    return now - since;
  };
  const ways: Reroute[] = [];
  for (const [from, { toolchain, engines, workers, retracted }] of removed) {
    const lasts = lastsFor(`gone ${from}`);
    const silentFor = workers === 0 ? lastsFor(`deserted ${from}`) : 0;
    const to = poolsFor(pools, toolchain, engines)[0]?.name;
    // A pool not seen before may be this one under a new name.
    const mayCome = [...pools.values()].some((pool) => pool.toolchain === toolchain && pool.seenAt === 0 && !pool.paused);
    ways.push({ from, to, ends: retracted && !mayCome && lasts >= RENAMED_MS, deserted: silentFor >= DESERTED_MS, onceOnly: false });
  }
  // Where no worker at all is heard, it is this process that hears nothing, and the time in which it heard none counts for no pool.
  const hears = [...pools.values()].some((pool) => pool.isHeard);
  for (const pool of pools.values()) {
    if (pool.paused || serves(pool)) continue;
    const { name: from, toolchain, engines, isHeard } = pool;
    const silentFor = hears && !isHeard ? lastsFor(`deserted ${from}`) : 0;
    if (lastsFor(`unserved ${from}`) < UNSERVED_MS) continue;
    const to = poolsFor(pools, toolchain, [...engines.keys()]).find(({ name, workers }) => name !== from && workers > 0)?.name;
    const deserted = silentFor >= DESERTED_MS;
    if (to !== undefined || deserted) ways.push({ from, to, ends: false, deserted, onceOnly: true });
  }
  return { ways, since: left };
}
