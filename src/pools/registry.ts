/** The pools that there are: what their workers can do, how many there are of them, and which one an order goes to. */

export interface Pool {
  readonly name: string;
  readonly toolchain: string;
  readonly paused: boolean;
  /** Lowest first. */
  readonly preference: number;
  /** Workers that it may reach where something starts them when they are needed. */
  readonly capacity: number;
  /** Processes that take orders, heard within the last seconds. */
  readonly workers: number;
  /** Orders that these hold. */
  readonly busy: number;
  /** Versions by engine id, as last heard: those of a pool without workers stay. The same object as long as they do not change. */
  readonly engines: ReadonlyMap<string, string>;
  /** When they were last heard, ms since the epoch; 0 where they never were. */
  readonly seenAt: number;
  /** Whether its workers do not come up, by its controller's word. */
  readonly degraded: boolean;
  /** How long an order that is published now will wait there, as far as can be told, ms. */
  readonly waitMs: number;
}

/** A pool that was declared, and is no more: orders may wait there still. */
export interface RemovedPool {
  readonly toolchain: string;
  /** Ids of what its workers had. */
  readonly engines: readonly string[];
  /** Workers of it that were heard within the last seconds: they end what they hold. */
  readonly workers: number;
  /** Whether somebody took it away; else its declaration lapsed, or was lost with a store. */
  readonly retracted: boolean;
}

export interface Registry {
  /** By name. */
  pools(): ReadonlyMap<string, Pool>;
  /** By name: those that are not among `pools`. */
  removed(): ReadonlyMap<string, RemovedPool>;
  close(): Promise<void>;
}

/** Who waits for less than this would gain little elsewhere: preference decides, ms. */
export const SOON_MS = 30_000;

/** Somebody takes its orders, or will. */
export const serves = ({ workers, capacity, degraded }: Pool): boolean => workers > 0 || (capacity > 0 && !degraded);

/**
 * The pools that orders of a toolchain may go to, best first: where somebody takes them, or will; where that is soon; of those as preferred,
 * of the others where they wait least; then where somebody is there now.
 * @param needs ids of engines that the order needs
 */
export function poolsFor(pools: ReadonlyMap<string, Pool>, toolchain: string, needs: readonly string[]): readonly Pool[] {
  const able = [...pools.values()].filter(
    (pool) => pool.toolchain === toolchain && !pool.paused && needs.every((engine) => pool.engines.has(engine)),
  );
  const isSoon = ({ waitMs }: Pool) => waitMs <= SOON_MS;
  const cost = (pool: Pool): readonly number[] => [
    // Workers of a degraded one may come up some day, where there is no capacity nobody ever will.
    serves(pool) ? 0 : pool.capacity > 0 ? 1 : 2,
    isSoon(pool) ? 0 : 1,
    isSoon(pool) ? pool.preference : pool.waitMs,
    pool.preference,
    pool.workers > 0 ? 0 : 1,
  ];
  return able.sort((a, b) => {
    const [mine, other] = [cost(a), cost(b)];
    const differing = mine.findIndex((part, index) => part !== other[index]);
    return differing === -1 ? (a.name < b.name ? -1 : 1) : (mine[differing] ?? 0) - (other[differing] ?? 0);
  });
}
