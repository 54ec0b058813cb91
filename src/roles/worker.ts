/** A worker of one pool: it takes orders over NATS, and transfers files by the URLs that an API replica grants for each claim. */
import { randomBytes } from 'node:crypto';
import { availableParallelism, cpus } from 'node:os';
import type { Config } from '../config.ts';
import { queueAbilities } from '../contracts/messages/presence.ts';
import { toolchainRow } from '../contracts/toolchains.ts';
import { tryDevices } from '../exec/models/trial.ts';
import { openNatsJobs } from '../jobs/nats/jobs.ts';
import { openClock } from '../nats/clock.ts';
import { streamOf } from '../queue/nats/pool.ts';
import { openNatsQueue } from '../queue/nats/queue.ts';
import { natsSignals } from '../signals/nats.ts';
import { createLog } from '../telemetry/log.ts';
import { watchLoop } from '../telemetry/loop.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { TooLittleMemory } from '../worker/memory.ts';
import { natsPresence } from '../worker/nats.ts';
import { startPresence, workerName } from '../worker/presence.ts';
import { startWorkers } from '../worker/workers.ts';
import { awaitPool } from './cluster/declared.ts';
import { askForGrants, askToForward } from './cluster/grants.ts';
import { joinCluster } from './cluster/join.ts';
import { retirement } from './cluster/retirement.ts';
import { openConverters } from './machine/converters.ts';
import { devicesHere, slotsWith } from './machine/devices.ts';
import { enginesHere, missingHere } from './machine/here.ts';
import { sayWhatIsMissing } from './machine/missing.ts';
import { asCannotStart, CannotStart } from './process/cannot-start.ts';
import { fetchingFor } from './process/fetch.ts';
import { healthOf } from './process/health.ts';
import { untilLost } from './process/lost.ts';
import { probe } from './process/probe.ts';
import type { Running } from './process/running.ts';

/** Processors that the pod's limit, or its set of them, allows. Without one it has a share of the node's that others may need: one is sure. */
const processors = (): number => (availableParallelism() < cpus().length ? availableParallelism() : 1);

/** @param checkout absolute path of the project */
export async function worker(config: Config, checkout: string): Promise<Running> {
  const { pool, poolWaitMs } = config.worker;
  if (pool === undefined) throw new CannotStart('the role worker needs a pool: set POOL');
  const log = createLog(config.log.level);
  const metrics = createMetrics();
  const { toolchain: installed } = config.worker;
  // Where the image says which toolchain it has, its converters are looked for while NATS is being reached.
  const [nats, here] = await Promise.all([
    joinCluster(config, 'worker', pool),
    installed && openConverters(config, checkout, log, metrics, [installed]),
  ]);
  const toolchain = await awaitPool(nats, pool, { toolchain: installed, patienceMs: poolWaitMs, log });
  const [time, converters] = await Promise.all([
    openClock(nats, streamOf(pool)),
    here ?? openConverters(config, checkout, log, metrics, [toolchain]),
  ]);
  const devices = await devicesHere([toolchain], { log, metrics, tryThem: (found) => tryDevices(converters, found) });
  const found = devices.get(toolchain);
  const onDevices = slotsWith(config.worker.slots[toolchain], toolchainRow(toolchain).devices, found);
  // A worker limited to one conversion has one slot.
  const slots = Math.min(onDevices, config.worker.conversionsPerWorker || Number.POSITIVE_INFINITY);
  const me = { pool, worker: workerName(config.worker.name) };
  const jobs = await openNatsJobs(nats, { report: (err) => log.error({ err }, 'a stored record cannot be read') });
  const queue = openNatsQueue(nats);
  const stopping = new AbortController();
  watchLoop({ log, metrics, otherwise: 'worker', signal: stopping.signal });
  const health = healthOf(converters, config, { slots: { [toolchain]: slots }, others: true }, log);
  const { engineStates, catalog } = converters;
  const ofQueue = Object.fromEntries([...queueAbilities].map((ability) => [ability, '1']));
  const abilities = () => ({
    engines: { ...Object.fromEntries(enginesHere(catalog(), toolchain)), ...ofQueue },
    broken: engineStates.withdrawn,
    fault: health.fault,
  });
  const presence = startPresence(
    natsPresence(nats),
    { ...me, toolchain, slots, ...(found && { devices: found.counts }) },
    config.worker,
    abilities,
  );
  health.onChange(presence.changed);
  engineStates.onChange(() => presence.changed());
  const workers = await startWorkers({
    ...converters,
    ...fetchingFor(config),
    devices,
    processors: processors(),
    settings: { ...config.worker, slots: { [toolchain]: slots } },
    pools: { [toolchain]: pool },
    jobs,
    queue,
    signals: natsSignals(nats),
    forward: askToForward(nats, pool),
    grant: askForGrants(nats, pool),
    reserve: presence.reserve,
    health,
    log,
    metrics,
    clock: time.now,
    newAttempt: () => randomBytes(16).toString('hex'),
  }).catch(asCannotStart(TooLittleMemory));
  void workers.tried.then(() => sayWhatIsMissing(log, missingHere(converters, [toolchain]), config.worker.trials));
  const probes = await probe(config, metrics, nats, presence, health);
  return {
    port: undefined,
    ended: untilLost(nats, retirement(nats, me, { presence, workers, log })),
    countUncaught: metrics.uncaught,
    async stop() {
      stopping.abort();
      presence.startDraining();
      await workers.drain(config.worker.drainMs);
      await presence.finishDraining();
      await probes?.close();
      await queue.close();
      await jobs.close();
      time.close();
      await nats.close();
    },
  };
}
