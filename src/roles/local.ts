/** One machine, one process: API, workers and upkeep over the embedded store. */
import { randomBytes } from 'node:crypto';
import { grants } from '../api/grants.ts';
import { createServer } from '../api/server.ts';
import type { Config } from '../config.ts';
import { memorySignals } from '../signals/memory.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { startUpkeep } from '../upkeep/upkeep.ts';
import { startWorkers } from '../worker/workers.ts';
import { CannotStart } from './cannot-start.ts';
import { openConverters } from './converters.ts';
import { openEmbedded } from './embedded.ts';
import { fetchingFor } from './fetch.ts';
import { poolsHere } from './here.ts';
import { listen } from './listen.ts';
import type { Running } from './running.ts';

/** @param checkout absolute path of the project @param clock ms since the epoch */
export async function local(config: Config, checkout: string, version: string, clock: () => number = Date.now): Promise<Running> {
  if (config.nats !== undefined || config.s3 !== undefined)
    throw new CannotStart('the role local keeps everything itself: unset NATS_URL and S3_ENDPOINT, or run the roles api and worker');
  const log = createLog(config.log.level);
  const metrics = createMetrics();
  const signals = memorySignals();
  const newId = () => randomBytes(16).toString('hex');
  const fetching = fetchingFor(config);
  const store = await openEmbedded(config, log, clock);
  const { jobs, objects, seal } = store;
  const converters = await openConverters(config, checkout);
  const { catalog, toolbox } = converters;
  const stopping = new AbortController();

  const server = createServer({
    ...store,
    ...fetching,
    settings: config.api,
    catalog,
    signals,
    log,
    metrics,
    clock,
    newId,
    version,
    missing: toolbox.missing,
    pools: poolsHere(catalog, config.worker.slots, clock()),
    stopping: stopping.signal,
  });
  // Before anything is claimed: a start that fails for want of the port must not cost the jobs that wait an attempt each.
  await listen(server, config.api);
  const workers = await startWorkers({
    ...converters,
    ...store,
    ...fetching,
    settings: config.worker,
    signals,
    grant: grants(jobs, objects, seal),
    log,
    metrics,
    clock,
    newAttempt: newId,
  });
  const upkeep = startUpkeep({ ...store, ...config.upkeep, clock, log });
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : config.api.port,
    async stop() {
      stopping.abort();
      await workers.drain(config.worker.drainMs);
      // Whoever is still sending a file would hold the end up for as long as they like.
      setTimeout(() => server.server.closeAllConnections(), 500).unref();
      await server.close();
      await upkeep.stop();
      await store.close();
    },
  };
}
