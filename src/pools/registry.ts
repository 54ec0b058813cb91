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
}

export interface Registry {
  /** By name. */
  pools(): ReadonlyMap<string, Pool>;
  close(): Promise<void>;
}

/**
 * The pools that orders of a toolchain may go to, best first: where somebody takes them, or will; then as preferred; then where somebody is
 * there now.
 * @param needs ids of engines that the order needs
 */
export function poolsFor(pools: ReadonlyMap<string, Pool>, toolchain: string, needs: readonly string[]): readonly Pool[] {
  const able = [...pools.values()].filter(
    (pool) => pool.toolchain === toolchain && !pool.paused && needs.every((engine) => pool.engines.has(engine)),
  );
  const isServed = ({ workers, capacity }: Pool) => workers > 0 || capacity > 0;
  const cost = (pool: Pool) => [isServed(pool) ? 0 : 1, pool.preference, pool.workers > 0 ? 0 : 1] as const;
  return able.sort((a, b) => {
    const [mine, other] = [cost(a), cost(b)];
    return mine[0] - other[0] || mine[1] - other[1] || mine[2] - other[2] || (a.name < b.name ? -1 : 1);
  });
}
