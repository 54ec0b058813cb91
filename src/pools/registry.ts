/** The existing pools: their engines, their workers, and which pool an order goes to. */
import { isEngineId, type Presence } from '../contracts/messages/presence.ts';
import { Failure } from '../errors.ts';

export interface Pool {
  readonly name: string;
  readonly toolchain: string;
  readonly paused: boolean;
  /** Lowest first. */
  readonly preference: number;
  /** Workers that it may scale up to, if something starts them on demand. */
  readonly capacity: number;
  /** Workers that take orders, with a heartbeat within the last seconds. */
  readonly workers: number;
  /** Whether any of its workers was heard within the last seconds, also one that takes no orders, or that cannot be read: it may hold some. */
  readonly isHeard: boolean;
  /** Orders that the workers that take orders hold. */
  readonly busy: number;
  /** Versions by engine id, as last reported: those of a pool without workers stay. The same object as long as they do not change. */
  readonly engines: ReadonlyMap<string, string>;
  /** By id, the kind of defect: engines that each of its workers lacks, or has and cannot use at present. Absent while there is none. */
  readonly broken?: ReadonlyMap<string, string>;
  /** By kind, the devices that each of its workers has found, at least. Absent where they use none, or while there are no workers. */
  readonly devices?: Readonly<Record<string, number>>;
  /** Time of the last heartbeat, ms since the epoch; 0 if there was none. */
  readonly seenAt: number;
  /** Whether its controller reports that its workers do not start. */
  readonly degraded: boolean;
  /** How long an order that is published now is expected to wait there, ms. */
  readonly waitMs: number;
}

/** A pool that is no longer declared: orders may still wait there. */
export interface RemovedPool {
  readonly toolchain: string;
  /** Ids of what its workers had. */
  readonly engines: readonly string[];
  /** Its workers with a heartbeat within the last seconds: they finish the orders that they hold. */
  readonly workers: number;
  /** Whether it was retracted; otherwise its declaration expired, or was lost with a store. */
  readonly retracted: boolean;
}

export interface Registry {
  /** By name. */
  pools(): ReadonlyMap<string, Pool>;
  /** By name: pools that are not among `pools`. */
  removed(): ReadonlyMap<string, RemovedPool>;
  close(): Promise<void>;
}

/** A worker's last heartbeat. */
export interface WorkerPresence extends Presence {
  /** By our clock, ms since the epoch. */
  readonly receivedAt: number;
}

export interface KnownWorkers {
  /** Workers with a heartbeat within the last 15 s, including draining and drained ones. */
  workers(pool: string): readonly WorkerPresence[];
  /** Whether any worker of the pool was heard in that time, even if what it said cannot be read. */
  isHeard(pool: string): boolean;
  /** Calls back when a worker is new, its heartbeat differs from its last one, or it has fallen silent. @returns unsubscribe */
  onPresence(callback: (pool: string, worker: string) => void): () => void;
  close(): void;
}

/** Another owner has the pool: the message is for the one that declared it here. */
export class Contested extends Error {
  override readonly name = 'Contested';
}

/** An order that waits for less than this would gain little elsewhere, ms: preference decides. */
export const SOON_MS = 30_000;

/** Whether workers take its orders, or will. */
export const serves = ({ workers, capacity, degraded }: Pool): boolean => workers > 0 || (capacity > 0 && !degraded);

/**
 * The pools that orders of a toolchain may go to, best first: those that workers serve, or will; those with a short wait; among these
 * by preference, among the others by the shortest wait; then those that have workers now.
 * @param needs ids of engines that the order needs
 */
export function poolsFor(pools: ReadonlyMap<string, Pool>, toolchain: string, needs: readonly string[]): readonly Pool[] {
  const able = [...pools.values()].filter(
    (pool) => pool.toolchain === toolchain && !pool.paused && needs.every((engine) => pool.engines.has(engine)),
  );
  const isSoon = ({ waitMs }: Pool) => waitMs <= SOON_MS;
  const cost = (pool: Pool): readonly number[] => [
    // A degraded pool's workers may start some day; without capacity none ever will.
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

/**
 * The pool that a job waits in: the best that can run it.
 * @param toolchains any of which has what the job needs, in order of preference
 * @param needs ids of engines
 * @throws Failure `OVERLOADED` where every pool that could run it is paused
 */
export function choosePool(pools: ReadonlyMap<string, Pool>, toolchains: readonly string[], needs: readonly string[]): string {
  for (const toolchain of toolchains) {
    const [best] = poolsFor(pools, toolchain, needs);
    if (best !== undefined) return best.name;
  }
  throw new Failure('OVERLOADED', { details: { pool: toolchains[0] } });
}

/** The pool itself, then the pools that have all its engines: where it is full, a job may wait there. */
export function equivalentPools(pools: ReadonlyMap<string, Pool>, name: string): readonly string[] {
  const pool = pools.get(name);
  const alike = pool === undefined ? [] : poolsFor(pools, pool.toolchain, [...pool.engines.keys()].filter(isEngineId));
  return [name, ...alike.map((other) => other.name).filter((other) => other !== name)];
}
