/** Pools over NATS: those declared in the bucket, with what their workers' heartbeats report. */
import { type KnownEngines, POOL_VERSION, type PoolDeclaration } from '../../contracts/messages/pool.ts';
import type { Nats } from '../../nats/connection.ts';
import type { KnownWorkers, Pool, Registry, RemovedPool, WorkerPresence } from '../registry.ts';
import { keepEngines, openDeclarations } from './declarations.ts';
import { watchPools } from './watched.ts';

/** How long a count is reused, ms: thousands of workers are not counted again for each request. */
const FRESH_MS = 200;
/** How often to check whether the engines of pools have changed and must be stored, ms. */
const KEEP_MS = 2_000;
/** How far the stored `seenAt` may lag behind, ms. */
const BEHIND_MS = 600_000;

interface RegistryDeps {
  readonly workers: KnownWorkers;
  /** Pools that exist whatever the bucket contains. */
  readonly own: readonly PoolDeclaration[];
  /** ms since the epoch */
  readonly clock: () => number;
  /** Orders that wait in a pool, as last counted; 0 by default. */
  readonly waiting?: (pool: string) => number;
  /** Called for what could not be read or stored. */
  readonly report: (error: Error) => void;
}

/** The engines of a pool's workers, from the last heartbeats or from the bucket. */
interface Able {
  readonly toolchain: string;
  readonly engines: ReadonlyMap<string, string>;
  /** As a pool's `broken`. */
  readonly broken: ReadonlyMap<string, string>;
  readonly seenAt: number;
}

/** @param nats stays open when the registry is closed @throws Unavailable */
export async function openRegistry(nats: Nats, { workers, own, clock, waiting = () => 0, report }: RegistryDeps): Promise<Registry> {
  const bucket = openDeclarations(nats);
  const watched = await watchPools(bucket, report);
  const ours = new Map(own.map((declaration) => [declaration.name, declaration]));
  const able = new Map<string, Able>();
  /** The engines that this replica has stored, or found stored. */
  const stored = new Map<string, ReadonlyMap<string, string>>();

  const declared = () => new Map([...watched.now().declarations, ...ours]);
  /** From the last heartbeats; otherwise from the bucket, if the toolchain is the same. */
  const remembered = ({ name, toolchain }: PoolDeclaration): Able | undefined => {
    const last = [able.get(name), ableIn(watched.now().known.get(name))].find((known) => known?.toolchain === toolchain);
    if (last !== undefined) able.set(name, last);
    return last;
  };
  const poolOf = (pool: PoolDeclaration): Pool => {
    const { name, toolchain, paused, preference, capacity = 0 } = pool;
    const there = workers
      .workers(name)
      .filter(({ toolchain: of, state, unwell }) => of === toolchain && unwell === undefined && ['idle', 'busy'].includes(state));
    const last = remembered(pool);
    const now: Able = {
      toolchain,
      engines: sameOr(last?.engines, there.length > 0 ? sharedEngines(there) : withBroken(last)),
      broken: sameOr(last?.broken, brokenEngines(there)),
      seenAt: there.length > 0 ? Math.max(...there.map(({ receivedAt }) => receivedAt)) : (last?.seenAt ?? 0),
    };
    if (there.length > 0 || last !== undefined) able.set(name, now);
    const busy = there.reduce((sum, worker) => sum + worker.busy, 0);
    const degraded = watched.now().states.get(name)?.degraded !== undefined;
    const waitMs = expectedWaitMs(waiting(name), there);
    const devices = sharedDevices(there);
    const isHeard = workers.isHeard(name);
    const facts = { paused, preference, capacity, workers: there.length, isHeard, busy, degraded, waitMs };
    return { ...now, name, ...facts, ...(devices && { devices }) };
  };
  const removed = (): ReadonlyMap<string, RemovedPool> => {
    const [there, { known, retracted }] = [declared(), watched.now()];
    const names = [...new Set([...retracted.keys(), ...known.keys()])].filter((name) => !there.has(name));
    return new Map(
      names.map((name) => {
        const engines = retracted.get(name)?.engines ?? Object.keys(known.get(name)?.engines ?? {});
        const toolchain = retracted.get(name)?.toolchain ?? known.get(name)?.toolchain ?? '';
        return [name, { toolchain, engines, workers: workers.workers(name).length, retracted: retracted.has(name) }];
      }),
    );
  };

  let current: ReadonlyMap<string, Pool> = new Map();
  let countedAt = Number.NEGATIVE_INFINITY;
  const pools = () => {
    if (Math.abs(clock() - countedAt) < FRESH_MS) return current;
    countedAt = clock();
    current = new Map([...declared()].map(([name, pool]) => [name, poolOf(pool)]));
    return current;
  };

  /** All replicas get the same heartbeats: the first one stores it, and none again until it changes. */
  const keep = (name: string, known: Able) => {
    const { toolchain, seenAt } = known;
    const engines = withBroken(known);
    const before = watched.now().known.get(name);
    const isOld = seenAt - (before?.seenAt ?? 0) > BEHIND_MS;
    if (stored.get(name) === known.engines && !isOld) return;
    const isThere = before?.toolchain === toolchain && same(new Map(Object.entries(before.engines)), engines) && !isOld;
    const record: KnownEngines = { version: POOL_VERSION, toolchain, engines: Object.fromEntries(engines), seenAt };
    (isThere ? Promise.resolve() : keepEngines(bucket, name, record)).then(() => void stored.set(name, known.engines), report);
  };
  const keeping = setInterval(() => {
    const there = pools();
    for (const [name, what] of able) {
      if (there.has(name)) keep(name, what);
      else able.delete(name);
    }
  }, KEEP_MS);

  return {
    pools,
    removed,
    async close() {
      clearInterval(keeping);
      await watched.close();
    },
  };
}

/** Assumed time of an order while none has ended yet, ms. */
const UNKNOWN_SERVICE_MS = 5_000;

/** From the mean time of the present workers' orders; with no worker, as if there were one slot. */
function expectedWaitMs(waiting: number, there: readonly Pick<WorkerPresence, 'busyMs' | 'ended' | 'slots'>[]): number {
  const sum = (of: (worker: (typeof there)[number]) => number) => there.reduce((total, worker) => total + of(worker), 0);
  const ended = sum((worker) => worker.ended);
  const serviceMs = ended === 0 ? UNKNOWN_SERVICE_MS : sum((worker) => worker.busyMs) / ended;
  return Math.round(
    (waiting * serviceMs) /
      Math.max(
        1,
        sum((worker) => worker.slots),
      ),
  );
}

const NONE: ReadonlyMap<string, string> = new Map();

const ableIn = (known: KnownEngines | undefined): Able | undefined =>
  known && { toolchain: known.toolchain, engines: new Map(Object.entries(known.engines)), broken: NONE, seenAt: known.seenAt };

const same = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && [...b].every(([id, version]) => a.get(id) === version);

type Reported = Pick<WorkerPresence, 'worker' | 'engines' | 'broken'>;

/**
 * Engines that all of them have, though some may not be able to use them at present: these release orders for the others. If there are several versions,
 * that of the first worker by name, so that it does not depend on who reports last.
 */
export function sharedEngines(workers: readonly Reported[]): ReadonlyMap<string, string> {
  const sorted = [...workers].sort((a, b) => (a.worker < b.worker ? -1 : 1));
  const versions = new Map(sorted.toReversed().flatMap(({ engines }) => Object.entries(engines)));
  const hasOrCalls = (id: string) => sorted.every(({ engines, broken = {} }) => Object.hasOwn(engines, id) || Object.hasOwn(broken, id));
  return new Map([...versions].filter(([id]) => hasOrCalls(id)));
}

/** Engines that some of them call broken and none can use. */
export function brokenEngines(workers: readonly Reported[]): ReadonlyMap<string, string> {
  const all = workers.flatMap(({ broken = {} }) => Object.entries(broken));
  return new Map(all.filter(([id]) => workers.every(({ engines }) => !Object.hasOwn(engines, id))));
}

/** For each kind, the number that the worker with the fewest has found. */
export function sharedDevices(workers: readonly Pick<WorkerPresence, 'devices'>[]): Readonly<Record<string, number>> | undefined {
  const found = workers.flatMap(({ devices }) => (devices === undefined ? [] : [devices]));
  if (found.length === 0) return undefined;
  const kinds = [...new Set(found.flatMap(Object.keys))].sort();
  return Object.fromEntries(kinds.map((kind) => [kind, Math.min(...found.map((devices) => devices[kind] ?? 0))]));
}

/** What a pool without workers offers: the next worker may be able to use what the last one could not, and tries it. */
function withBroken(known: Pick<Able, 'engines' | 'broken'> | undefined): ReadonlyMap<string, string> {
  if (known === undefined || known.broken.size === 0) return known?.engines ?? NONE;
  return new Map([...[...known.broken.keys()].map((id): [string, string] => [id, '']), ...known.engines]);
}

/** The object that was there before, unless it has changed. */
const sameOr = (before: ReadonlyMap<string, string> | undefined, now: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  before !== undefined && same(before, now) ? before : now;
