/** `GET /api/v1/health`: what this installation can do and how busy it is; `/livez`, `/readyz`, `/metrics` for machines. */
import type { FastifyInstance } from 'fastify';
import { type EngineRole, engineRoles } from '../../contracts/toolchains.ts';
import { Failure } from '../../errors.ts';
import type { StorageUse } from '../../objects/watch.ts';
import type { Pool } from '../../pools/registry.ts';
import { shareReading } from '../../streams/share-reading.ts';
import type { ApiDeps } from '../deps.ts';

interface EngineHealth {
  readonly name: string;
  readonly version: string;
  readonly available: boolean;
  readonly reason?: string;
  readonly seen_at: string;
  readonly fresh?: 'fork' | 'process';
}

/** Monitoring is never rate limited. */
const FREE = { config: { costs: 'nothing' } } as const;
/** Ms. */
const SOON_MS = 2_000;
/** Health within this time of another shows the same queues, ms: as it is never limited, it would carry a flood of requests on to the queues. */
const KEPT_MS = 1_000;

export function healthRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const { queue, clock, metrics } = deps;
  const startedAt = clock();

  const listPools = async () => [...(await declared()), ...(await gone())];
  const sharedPools = shareReading(listPools, (seen) => (seen.every(({ depth }) => depth !== undefined) ? KEPT_MS : 0));
  /** Removed pools, as long as orders wait or are held there. */
  const gone = async () => {
    const seen = [...(deps.removedPools ?? [])].map(async ([pool, { workers }]) => {
      const depth = await soon(queue.depth(pool));
      return { pool, workers, busy: depth?.held ?? 0, versions: new Map<string, string>(), depth };
    });
    return (await Promise.all(seen)).filter(({ depth }) => depth !== undefined && depth.waiting + depth.held > 0);
  };
  const freshOf = (id: string): Pick<EngineHealth, 'fresh'> => {
    const forks = deps.catalog.forks(id);
    return forks === undefined ? {} : { fresh: forks ? 'fork' : 'process' };
  };
  const declared = () =>
    Promise.all(
      [...deps.pools.values()].map(async ({ name, workers, busy, engines }) => ({
        pool: name,
        workers,
        busy,
        versions: engines,
        depth: await soon(queue.depth(name)),
      })),
    );

  app.get('/api/v1/health', FREE, async () => {
    const { catalog, missing, pools } = deps;
    const there = catalog.engines.map((engine) => ({
      engine,
      available: true,
      version: catalog.version(engine.id),
      reason: undefined,
      ...freshOf(engine.id),
    }));
    const all = [...there, ...missing.map(({ engine, reason }) => ({ engine, available: false, version: '', reason }))];
    const seenAt = (id: string) => Math.max(0, ...[...pools.values()].filter(({ engines }) => engines.has(id)).map((pool) => pool.seenAt));
    const engines: Partial<Record<EngineRole, EngineHealth & { all: readonly EngineHealth[] }>> = {};
    for (const role of engineRoles) {
      // Two engines may be one program: readers count programs.
      const members = new Map<string, EngineHealth>();
      for (const { engine, available, version, reason, ...fresh } of all.filter((each) => each.engine.role === role)) {
        const seen_at = new Date(seenAt(engine.id) || startedAt).toISOString();
        const member = { name: engine.name, version, available, ...(reason !== undefined && { reason }), seen_at, ...fresh };
        members.set(engine.name, members.get(engine.name) ?? member);
      }
      const [main] = members.values();
      if (main !== undefined) engines[role] = { ...main, all: [...members.values()] };
    }
    const seen = await sharedPools();
    const queues = seen.flatMap(({ pool, workers, depth }) =>
      depth === undefined ? [] : [[pool, { waiting: depth.waiting, running: depth.held, workers }] as const],
    );
    const status = missing.length === 0 && queues.length === seen.length && deps.fault?.() === undefined ? 'ok' : 'degraded';
    return {
      data: {
        status,
        version: deps.version,
        uptime_seconds: Math.floor((clock() - startedAt) / 1000),
        engines,
        ...storageOf(deps.storage?.use),
        ...confinementOf(deps.confinement),
        ...devicesOf([...pools.values()]),
        missing: missing.map(({ engine, reason }) => ({ engine: engine.name, reason, formats: lost(deps, engine.conversions) })),
        queue: Object.fromEntries(queues),
      },
    };
  });

  app.get('/livez', FREE, async () => ({ data: { status: 'ok' } }));
  app.get('/readyz', FREE, async () => {
    if (deps.stopping.aborted) throw new Failure('OVERLOADED', { says: 'The service is shutting down.' });
    // This id has no job: any answer shows that the store works.
    await deps.jobs.get('0'.repeat(32));
    return { data: { status: 'ok' } };
  });

  metrics.onScrape(async () => {
    metrics.poolsSeen(await listPools());
    if (deps.storage !== undefined) metrics.storageSeen(deps.storage.use);
  });
  if (deps.settings.metricsPort > 0) return;
  app.get('/metrics', FREE, async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
}

const storageOf = (use: StorageUse | undefined) =>
  use === undefined
    ? {}
    : {
        storage: {
          ...(use.usedBytes !== undefined && { used_bytes: use.usedBytes }),
          free_bytes: use.freeBytes,
          full: use.full !== undefined,
        },
      };

const confinementOf = (confinement: ApiDeps['confinement']) =>
  confinement === undefined ? {} : { confinement: { landlock_abi: confinement.landlockAbi, counts: confinement.counts } };

const devicesOf = (pools: readonly Pool[]) => {
  const found = pools.flatMap(({ name, devices }) => (devices === undefined ? [] : [[name, devices] as const]));
  return found.length === 0 ? {} : { devices: Object.fromEntries(found) };
};

/** @returns undefined where the store does not answer in time: health is queried when things go wrong */
async function soon<T>(asked: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), SOON_MS);
  try {
    return await Promise.race([asked, promise]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Source formats that no other engine reads while this one is missing. */
function lost({ catalog }: ApiDeps, conversions: readonly { readonly source: string }[]): string[] {
  return [...new Set(conversions.map(({ source }) => source))].filter((source) => !catalog.sources.includes(source));
}
