/** Chooses the pool that a job waits in: the best that can run it, or an equivalent one where that is full. */
import { isEngineId } from '../../contracts/messages/presence.ts';
import { Failure } from '../../errors.ts';
import { type Pool, poolsFor } from '../../pools/registry.ts';

type Pools = ReadonlyMap<string, Pool>;

/**
 * @param toolchains any of which has what the job needs, in order of preference
 * @param needs ids of engines
 * @throws Failure `OVERLOADED` where every pool that could run it is paused
 */
export function choosePool(pools: Pools, toolchains: readonly string[], needs: readonly string[]): string {
  for (const toolchain of toolchains) {
    const [best] = poolsFor(pools, toolchain, needs);
    if (best !== undefined) return best.name;
  }
  throw new Failure('OVERLOADED', { details: { pool: toolchains[0] } });
}

/** The pool itself, then the pools that have all its engines. */
export function equivalentPools(pools: Pools, name: string): readonly string[] {
  const pool = pools.get(name);
  const alike = pool === undefined ? [] : poolsFor(pools, pool.toolchain, [...pool.engines.keys()].filter(isEngineId));
  return [name, ...alike.map((other) => other.name).filter((other) => other !== name)];
}
