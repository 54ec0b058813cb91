/** One of any number of API replicas: it takes requests, keeps what they bring, and tells workers what a claim entitles them to. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { grants } from '../api/grants.ts';
import { createServer } from '../api/server.ts';
import { engines } from '../catalog/engines.gen.ts';
import { liveCatalog } from '../catalog/live.ts';
import { toolchains } from '../catalog/route.ts';
import type { Config } from '../config.ts';
import { answer } from '../nats/requests.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { startUpkeep } from '../upkeep/upkeep.ts';
import { ensureCluster, joinCluster, openCluster } from './cluster.ts';
import { egressFor } from './fetch.ts';
import { listen } from './listen.ts';
import type { Running } from './running.ts';

const Claimed = z.strictObject({ jobId: z.string(), attempt: z.string() });

/** @param clock ms since the epoch */
export async function api(config: Config, _checkout: string, version: string, clock: () => number = Date.now): Promise<Running> {
  const log = createLog(config.log.level);
  const metrics = createMetrics();
  const nats = await joinCluster(config, 'api');
  await ensureCluster(nats, config);
  const store = await openCluster(nats, config, log, clock);
  const { jobs, objects, seal, registry } = store;
  const catalog = liveCatalog(() => registry.pools());
  const stopping = new AbortController();

  const server = createServer({
    ...store,
    ...egressFor(config),
    settings: config.api,
    get catalog() {
      return catalog();
    },
    get missing() {
      const there = new Set(catalog().engines.map(({ id }) => id));
      return engines.filter(({ id }) => !there.has(id)).map((engine) => ({ engine, binaries: [] }));
    },
    get pools() {
      return new Map([...registry.pools()].map(([name, { slots }]) => [name, slots]));
    },
    log,
    metrics,
    clock,
    newId: () => randomBytes(16).toString('hex'),
    version,
    stopping: stopping.signal,
  });
  const grant = grants(jobs, objects, seal);
  const silence = toolchains.map((pool) =>
    answer(nats, `grant.${pool}`, async (text) => {
      const { jobId, attempt } = Claimed.parse(JSON.parse(text));
      return JSON.stringify(await grant(jobId, attempt, pool));
    }),
  );
  await listen(server, config.api);
  const upkeep = startUpkeep({ ...store, ...config.upkeep, clock, log });
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : config.api.port,
    async stop() {
      stopping.abort();
      setTimeout(() => server.server.closeAllConnections(), 500).unref();
      await server.close();
      await upkeep.stop();
      for (const end of silence) end();
      await store.close();
      await nats.close();
    },
  };
}
