/** One of two or more controllers, of which one leads: it keeps worker Jobs in step with the load, and mirrors ConversionJobs. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { startConversionJobs } from '../controller/conversion-jobs/controller.ts';
import { askOver } from '../controller/conversion-jobs/nats.ts';
import { startPools } from '../controller/pools/controller.ts';
import { encryptionWith, saltOf } from '../jobs/encryption.ts';
import { REGISTRY_STREAM } from '../pools/nats/declarations.ts';
import { createControllerMetrics } from '../telemetry/controller.ts';
import { createLog } from '../telemetry/log.ts';
import { joinCluster } from './cluster/join.ts';
import { joinKubernetes } from './cluster/kubernetes.ts';
import { openPoolNats } from './cluster/pool-nats.ts';
import { CannotGoOn, untilLost, watchStore } from './process/lost.ts';
import { openProbes } from './process/probe.ts';
import type { Running } from './process/running.ts';

/** How long unfinished calls may take when it is stopped, ms. */
const UNDER_WAY_MS = 300;

export async function controller(config: Config): Promise<Running> {
  const { controller: settings, nats: at, log: logging, api, secret } = config;
  const log = createLog(logging.level);
  const metrics = createControllerMetrics();
  metrics.leading(false);
  let stopping = false;
  const nats = await joinCluster(config, 'controller');
  const { kube, own, recorder, election } = await joinKubernetes(settings, log);
  // Times of the API server are compared with its own clock: this machine's may be wrong.
  const clock = () => kube.now();
  // A Lease belongs to one cluster and namespace, and outlives its holders.
  const scope = () => `the controller of the namespace ${own} (lease ${election.uid ?? 'unknown'})`;
  const shared = {
    kube,
    namespace: settings.allNamespaces ? undefined : own,
    mayAct: () => election.leading && !stopping,
    recorder,
    metrics,
    log,
    clock,
  };
  const homes = settings.poolNamespaces ?? [own];
  const poolNats = await openPoolNats(nats, config, { scope, log });
  const { emptied } = await watchStore(nats, REGISTRY_STREAM);
  const pools = startPools({
    ...shared,
    poolNamespaces: settings.allNamespaces && !homes.includes('*') ? homes : undefined,
    ...poolNats,
    natsServers: settings.workerNats ?? at?.servers ?? [],
    silentMs: settings.silentSeconds * 1000,
    jobsPerSecond: settings.jobsPerSecond,
    jobsBurst: settings.jobsBurst,
  });
  const conversions = startConversionJobs({
    ...shared,
    ask: askOver(nats),
    encryption: secret.key === undefined ? undefined : encryptionWith(secret.key, saltOf(secret.key, secret.salt)),
  });
  const lost = election.lost.then((why) => {
    throw new CannotGoOn(`another controller may lead now (${why}): this one exits and must be restarted`);
  });
  const leading = election.won.then(async () => {
    log.info('this controller became the leader');
    metrics.leading(true);
    await Promise.all([pools.lead(), conversions.lead()]);
  });
  const ready = () => pools.synced() && conversions.synced() && nats.isConnected();
  // A restart does not help while the API server or NATS cannot be reached.
  const probed = { port: settings.probesPort, host: api.host, ready, live: () => true, metrics };
  const probes = await openProbes(probed, 'controller.probesPort');
  return {
    port: probes.port,
    ended: untilLost(nats, Promise.race([lost, emptied, leading.then(() => Promise.withResolvers<void>().promise)])),
    countUncaught: metrics.uncaught,
    async stop() {
      stopping = true;
      // Running calls end first, so that the next leader does not collide with them, but within a limit: it waits for us.
      await Promise.race([Promise.all([pools.close(), conversions.close()]), pause(UNDER_WAY_MS)]);
      await election.resign();
      await recorder.close();
      await probes.close();
      kube.close();
      await nats.close();
    },
  };
}
