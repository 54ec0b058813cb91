/** `GET /api/v1/health`: what this installation can do and how busy it is; `/livez`, `/readyz`, `/metrics` for machines. */
import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
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
/** Requests within this time share one reading of the queues, ms: as they are never limited, a flood of them would reach the queues. */
const KEPT_MS = 1_000;

export function healthRoutes(
  app: FastifyInstance,
  { jobs, files, catalogue, service, telemetry: { metrics } }: Omit<ApiDeps, 'limits'>,
): void {
  const { queue, clock } = jobs;
  const startedAt = clock();

  const listPools = async () => [...(await declared()), ...(await gone())];
  const sharedPools = shareReading(listPools, (seen) => (seen.every(({ depth }) => depth !== undefined) ? KEPT_MS : 0));
  /** Removed pools, as long as orders wait or are held there. */
  const gone = async () => {
    const seen = [...(catalogue.removedPools ?? [])].map(async ([pool, { workers }]) => {
      const depth = await soon(queue.depth(pool));
      return { pool, workers, busy: depth?.held ?? 0, versions: new Map<string, string>(), depth };
    });
    return (await Promise.all(seen)).filter(({ depth }) => depth !== undefined && depth.waiting + depth.held > 0);
  };
  const freshOf = (id: string): Pick<EngineHealth, 'fresh'> => {
    const forks = catalogue.current.forks(id);
    return forks === undefined ? {} : { fresh: forks ? 'fork' : 'process' };
  };
  const declared = () =>
    Promise.all(
      [...catalogue.pools.values()].map(async ({ name, workers, busy, engines }) => ({
        pool: name,
        workers,
        busy,
        versions: engines,
        depth: await soon(queue.depth(name)),
      })),
    );

  app.get('/api/v1/health', FREE, async () => {
    const { current, missing, pools } = catalogue;
    const there = current.engines.map((engine) => ({
      engine,
      available: true,
      version: current.version(engine.id),
      reason: undefined,
      ...freshOf(engine.id),
    }));
    const all = [...there, ...missing.map(({ engine, reason }) => ({ engine, available: false, version: '', reason }))];
    const seenAt = (id: string) => Math.max(0, ...[...pools.values()].filter(({ engines }) => engines.has(id)).map((pool) => pool.seenAt));
    const engines: Partial<Record<EngineRole, EngineHealth & { all: readonly EngineHealth[] }>> = {};
    for (const role of engineRoles) {
      // Two engines may be one program, and readers count programs.
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
    const status = missing.length === 0 && queues.length === seen.length && service.fault?.() === undefined ? 'ok' : 'degraded';
    return {
      data: {
        status,
        version: service.version,
        ...(service.commit !== undefined && { commit: service.commit }),
        uptime_seconds: Math.floor((clock() - startedAt) / 1000),
        engines,
        ...storageOf(files.storage?.use),
        ...confinementOf(service.confinement),
        ...devicesOf([...pools.values()]),
        missing: missing.map(({ engine, reason }) => ({ engine: engine.name, reason, formats: lost(current, engine.conversions) })),
        queue: Object.fromEntries(queues),
      },
    };
  });

  app.get('/livez', FREE, async () => ({ data: { status: 'ok' } }));
  app.get('/readyz', FREE, async () => {
    if (service.stopping.aborted) throw new Failure('OVERLOADED', { says: 'The service is shutting down.' });
    // This id has no job: any answer shows that the store works.
    await jobs.store.get('0'.repeat(32));
    return { data: { status: 'ok' } };
  });

  metrics.onScrape(async () => {
    metrics.poolsSeen(await listPools());
    if (files.storage !== undefined) metrics.storageSeen(files.storage.use);
  });
  if (service.settings.metricsPort > 0) return;
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

const confinementOf = (confinement: ApiDeps['service']['confinement']) =>
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
function lost({ sources }: Catalog, conversions: readonly { readonly source: string }[]): string[] {
  return [...new Set(conversions.map(({ source }) => source))].filter((source) => !sources.includes(source));
}
