/** `GET /api/v1/health`: what this installation can do and how busy it is; `/livez`, `/readyz`, `/metrics` for machines. */
import type { FastifyInstance } from 'fastify';
import type { EngineRole } from '../../catalog/engine.ts';
import { Failure } from '../../errors.ts';
import type { ApiParts } from '../parts.ts';

interface EngineHealth {
  readonly name: string;
  readonly version: string;
  readonly available: boolean;
  readonly seen_at: string;
}

/** Whoever looks after the service is never turned away. */
const FREE = { config: { costs: 'nothing' } } as const;
const ROLES: readonly EngineRole[] = ['image', 'audio_video', 'pdf', 'office', 'ocr', 'markup', 'web'];

export function healthRoutes(app: FastifyInstance, parts: ApiParts): void {
  const { queue, clock, metrics } = parts;
  const startedAt = clock();

  const depths = () => Promise.all([...parts.pools].map(async ([pool, workers]) => ({ pool, workers, ...(await queue.depth(pool)) })));

  app.get('/api/v1/health', FREE, async () => {
    const { catalog, missing } = parts;
    const seen_at = new Date(startedAt).toISOString();
    const there = catalog.engines.map((engine) => ({ engine, available: true, version: catalog.version(engine.id) }));
    const all = [...there, ...missing.map(({ engine }) => ({ engine, available: false, version: '' }))];
    const engines: Partial<Record<EngineRole, EngineHealth & { all: readonly EngineHealth[] }>> = {};
    for (const role of ROLES) {
      // Two engines may be one program: whoever reads this counts programs.
      const members = new Map<string, EngineHealth>();
      for (const { engine, available, version } of all.filter((each) => each.engine.role === role))
        members.set(engine.name, members.get(engine.name) ?? { name: engine.name, version, available, seen_at });
      const [main] = members.values();
      if (main !== undefined) engines[role] = { ...main, all: [...members.values()] };
    }
    const queues = Object.fromEntries(
      (await depths()).map(({ pool, workers, waiting, held }) => [pool, { waiting, running: held, workers }]),
    );
    const status = missing.length === 0 ? 'ok' : 'degraded';
    return {
      data: {
        status,
        version: parts.version,
        uptime_seconds: Math.floor((clock() - startedAt) / 1000),
        engines,
        missing: missing.map(({ engine }) => ({ engine: engine.name, formats: lost(parts, engine.conversions) })),
        queue: queues,
      },
    };
  });

  app.get('/livez', FREE, async () => ({ data: { status: 'ok' } }));
  app.get('/readyz', FREE, async () => {
    if (parts.stopping.aborted) throw new Failure('OVERLOADED', { says: 'The service is about to stop.' });
    await queue.depth([...parts.pools.keys()][0] ?? 'image');
    return { data: { status: 'ok' } };
  });

  metrics.onScrape(async () => {
    for (const { pool, waiting, held } of await depths()) metrics.queueSeen(pool, waiting, held);
  });
  app.get('/metrics', FREE, async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
}

/** Source formats that nothing else reads, now that this engine is missing. */
function lost({ catalog }: ApiParts, conversions: readonly { readonly source: string }[]): string[] {
  return [...new Set(conversions.map(({ source }) => source))].filter((source) => !catalog.sources.includes(source));
}
