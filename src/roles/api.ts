/** One of any number of API replicas: it takes requests, stores their files and jobs, and answers workers' requests for grants. */
import { randomBytes } from 'node:crypto';
import type { ApiDeps } from '../api/deps.ts';
import { baseUrl } from '../api/http/base-url.ts';
import { createServer } from '../api/server.ts';
import { expectedCatalog, liveCatalog } from '../catalog/live.ts';
import type { Config } from '../config.ts';
import { JOBS_STREAM } from '../jobs/nats/jobs.ts';
import { openClock } from '../nats/clock.ts';
import { createLog } from '../telemetry/log.ts';
import { watchLoop } from '../telemetry/loop.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { startRerouting } from '../upkeep/reroute.ts';
import { startUpkeep } from '../upkeep/upkeep.ts';
import { openCluster } from './cluster/cluster.ts';
import { ensureCluster } from './cluster/ensure.ts';
import { answerGrants } from './cluster/grants.ts';
import { joinCluster } from './cluster/join.ts';
import { missingInCluster } from './cluster/missing.ts';
import { answerSubmissions } from './cluster/submissions.ts';
import { judgeOfApi } from './machine/judge.ts';
import { pageHere } from './machine/page.ts';
import { drainable } from './process/drain.ts';
import { endsFor } from './process/ends.ts';
import { fetchingFor } from './process/fetch.ts';
import { listen } from './process/listen.ts';
import { untilLost, watchStore } from './process/lost.ts';
import { privateMetrics } from './process/probe.ts';
import { commitOf } from './process/program.ts';
import type { Running } from './process/running.ts';
import { unreadableTo } from './process/unreadable.ts';

/** @param checkout absolute path of the project */
export async function api(config: Config, checkout: string, version: string): Promise<Running> {
  const log = createLog(config.log.level);
  const metrics = createMetrics();
  const unreadable = unreadableTo(log, metrics);
  const nats = await joinCluster(config, 'api');
  await ensureCluster(nats, config);
  const { emptied, createdAt } = await watchStore(nats, JOBS_STREAM);
  const time = await openClock(nats, JOBS_STREAM);
  const clock = time.now;
  const store = await openCluster(nats, config, log, unreadable, clock);
  const { batches, idempotency, queue, room, signals, encryption, objects, uploads, limits, registry } = store;
  const catalog = liveCatalog(() => registry.pools().values());
  const expected = expectedCatalog(() => registry.pools().values(), { clock, createdAt });
  const stopping = new AbortController();

  const { sender, places, ...fetching } = fetchingFor(config);
  const parts: Omit<ApiDeps, 'webhooks' | 'destinations'> = {
    jobs: { store: store.jobs, batches, idempotency, queue, room, signals, encryption, clock },
    files: { objects, uploads, ...fetching, judge: judgeOfApi(log), suffix: config.output.suffix },
    catalogue: {
      get current() {
        return catalog();
      },
      get expected() {
        return expected();
      },
      get missing() {
        return missingInCluster(new Set(catalog().engines.map(({ id }) => id)), registry.pools());
      },
      get pools() {
        return registry.pools();
      },
      get removedPools() {
        return registry.removed();
      },
    },
    limits,
    telemetry: { log, metrics, loop: watchLoop({ log, metrics, otherwise: 'upkeep', signal: stopping.signal }) },
    service: {
      settings: config.api,
      version,
      commit: commitOf(checkout),
      page: await pageHere(config, checkout, log),
      newId: () => randomBytes(16).toString('hex'),
      stopping: stopping.signal,
    },
  };
  const ends = endsFor({ ...parts, sender, places, config });
  const deps: ApiDeps = { ...parts, ...ends.api };
  const server = createServer(deps);
  const drain = drainable(server.server);
  const endGrants = answerGrants(nats, deps);
  const port = await listen(server, config.api);
  const probes = await privateMetrics(config, metrics, stopping.signal);
  const endSubmissions = answerSubmissions(nats, deps, () => baseUrl(config.api, undefined, port));
  const stopRerouting = startRerouting({ ...store, clock, log });
  const { abandonUploads } = objects;
  const upkeep = startUpkeep({
    ...store,
    ...config.upkeep,
    abandonUploads,
    unreadable: unreadable('job'),
    clock,
    log,
    offer: ends.offer,
  });
  return {
    port,
    ended: untilLost(nats, emptied),
    countUncaught: metrics.uncaught,
    async stop() {
      stopping.abort();
      drain(config.api.drainMs);
      await server.close();
      await probes?.close();
      await Promise.all([upkeep.stop(), stopRerouting(), ends.stop()]);
      endGrants();
      await endSubmissions();
      await store.close();
      time.close();
      await nats.close();
    },
  };
}
