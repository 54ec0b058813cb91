/** One machine, one process: API, workers and upkeep over the embedded store. */
import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { grants } from '../api/jobs/grants.ts';
import { forwarding } from '../api/recipes/forward.ts';
import { createServer } from '../api/server.ts';
import type { Config } from '../config.ts';
import { faultOf } from '../contracts/messages/fault.ts';
import { type Toolchain, toolchainRow, toolchains } from '../contracts/toolchains.ts';
import { tryDevices } from '../exec/models/trial.ts';
import { memorySignals } from '../signals/memory.ts';
import { createLog } from '../telemetry/log.ts';
import { watchLoop } from '../telemetry/loop.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { startUpkeep } from '../upkeep/upkeep.ts';
import { TooLittleMemory } from '../worker/memory.ts';
import { startWorkers } from '../worker/workers.ts';
import { openConverters } from './machine/converters.ts';
import { devicesHere, slotsWith } from './machine/devices.ts';
import { openEmbedded } from './machine/embedded.ts';
import { catalogueHere, missingHere, poolsHere } from './machine/here.ts';
import { judgeOfApi } from './machine/judge.ts';
import { sayWhatIsMissing } from './machine/missing.ts';
import { pageHere } from './machine/page.ts';
import { asCannotStart, CannotStart } from './process/cannot-start.ts';
import { endsFor } from './process/ends.ts';
import { fetchingFor } from './process/fetch.ts';
import { healthOf } from './process/health.ts';
import { listen } from './process/listen.ts';
import { privateMetrics } from './process/probe.ts';
import { commitOf } from './process/program.ts';
import type { Running } from './process/running.ts';
import { unreadableTo } from './process/unreadable.ts';

/** @param checkout absolute path of the project @param clock ms since the epoch */
export async function local(config: Config, checkout: string, version: string, clock: () => number = Date.now): Promise<Running> {
  if (config.nats !== undefined || config.s3 !== undefined)
    throw new CannotStart('the role local stores everything itself: unset NATS_URL and S3_ENDPOINT, or run the roles api and worker');
  const log = createLog(config.log.level);
  const metrics = createMetrics();
  const unreadable = unreadableTo(log, metrics);
  const signals = memorySignals();
  const newId = () => randomBytes(16).toString('hex');
  const { sender, places, ...fetching } = fetchingFor(config);
  const store = await openEmbedded(config, unreadable, clock, version);
  const { durability, batches, idempotency, queue, room, encryption, objects, storage, uploads, limits } = store;
  const served = config.worker.toolchains ?? toolchains;
  const converters = await openConverters(config, checkout, log, metrics, served);
  const stopping = new AbortController();

  const devices = await devicesHere(served, { log, metrics, tryThem: (found) => tryDevices(converters, found) });
  const slotsOf = (name: Toolchain) =>
    served.includes(name) ? slotsWith(config.worker.slots[name], toolchainRow(name).devices, devices.get(name)) : 0;
  const slots = Object.fromEntries(toolchains.map((name) => [name, slotsOf(name)]));
  const health = healthOf(converters, config, { slots, others: false }, log);
  const pools = poolsHere(converters.catalog, slots, clock(), devices, served);
  const jobs = { store: store.jobs, durability, batches, idempotency, queue, room, signals, encryption, clock };
  const catalogue = catalogueHere(converters, served, pools);
  const parts = {
    jobs,
    files: { objects, storage, uploads, ...fetching, judge: judgeOfApi(log), suffix: config.output.suffix },
    catalogue,
    limits,
    telemetry: { log, metrics, loop: watchLoop({ log, metrics, otherwise: 'worker', signal: stopping.signal }) },
    service: {
      settings: config.api,
      version,
      commit: commitOf(checkout),
      page: await pageHere(config, checkout, log),
      newId,
      stopping: stopping.signal,
      confinement: converters.confinement,
      fault: () => health.fault ?? (storage.use.full === undefined ? undefined : faultOf('disk_full', storage.use.full)),
    },
  };
  const ends = endsFor({ ...parts, sender, places, config, aloneSince: store.aloneSince });
  const server = createServer({ ...parts, ...ends.api });
  // Before any claim: a start that fails because the port is in use must not cost each waiting job an attempt.
  const port = await listen(server, config.api);
  const probes = await privateMetrics(config, metrics, stopping.signal);
  const workers = await startWorkers({
    ...converters,
    ...store,
    ...fetching,
    devices,
    processors: availableParallelism(),
    settings: { ...config.worker, slots },
    signals,
    health,
    forward: forwarding({ jobs, catalogue, files: { objects } }),
    grant: grants(store.jobs, objects, encryption, config.output.suffix),
    log,
    metrics,
    clock,
    newAttempt: newId,
  }).catch(asCannotStart(TooLittleMemory));
  void workers.tried.then(() => stopping.signal.aborted || sayWhatIsMissing(log, missingHere(converters, served), config.worker.trials));
  const upkeep = startUpkeep({ ...store, ...config.upkeep, unreadable: unreadable('job'), clock, log, offer: ends.offer });
  return {
    port,
    countUncaught: metrics.uncaught,
    async stop() {
      stopping.abort();
      await workers.drain(config.worker.drainMs);
      // A client that is still sending a file could delay the end without limit.
      setTimeout(() => server.server.closeAllConnections(), 500).unref();
      await server.close();
      await probes?.close();
      await Promise.all([upkeep.stop(), ends.stop()]);
      await store.close();
    },
  };
}
