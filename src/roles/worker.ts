/** A worker of one pool: it takes orders over NATS, and reaches files by the URLs that an API replica grants for each claim. */
import { randomBytes } from 'node:crypto';
import { toolchains } from '../catalog/route.ts';
import type { Config } from '../config.ts';
import { Grant } from '../contracts/grant.ts';
import { openJobs } from '../jobs/nats.ts';
import { question } from '../nats/requests.ts';
import { openQueue } from '../queue/nats.ts';
import { natsSignals } from '../signals/nats.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { startWorkers } from '../worker/workers.ts';
import { CannotStart } from './cannot-start.ts';
import { joinCluster } from './cluster.ts';
import { openConverters } from './converters.ts';
import { egressFor } from './fetch.ts';
import { present } from './presence.ts';
import type { Running } from './running.ts';

/** @param checkout absolute path of the project @param clock ms since the epoch */
export async function worker(config: Config, checkout: string, _version: string, clock: () => number = Date.now): Promise<Running> {
  const { pool } = config.worker;
  if (pool === undefined) throw new CannotStart('the role worker needs a pool: set POOL');
  const log = createLog(config.log.level);
  const nats = await joinCluster(config, 'worker', pool);
  const converters = await openConverters(config, checkout);
  const { catalog } = converters;
  const slots = config.worker.slots[pool];
  const mine = catalog.engines.filter(({ toolchains: own }) => own.includes(pool));
  const engines = Object.fromEntries(mine.map(({ id }) => [id, catalog.version(id)]));
  const presence = present(nats, { pool, slots, engines }, config.worker.conversionsPerWorker);
  const jobs = await openJobs(nats, { report: (err) => log.error({ err }, 'a stored record cannot be read') });
  const queue = openQueue(nats);
  const workers = await startWorkers({
    ...converters,
    ...egressFor(config),
    settings: {
      ...config.worker,
      slots: Object.fromEntries(toolchains.map((each) => [each, each === pool ? slots : 0])) as typeof config.worker.slots,
    },
    jobs,
    queue,
    signals: natsSignals(nats),
    grant: async (jobId, attempt) => Grant.parse(JSON.parse(await question(nats, `grant.${pool}`, JSON.stringify({ jobId, attempt })))),
    onTurn: presence.turn,
    mayTake: presence.mayTake,
    log,
    metrics: createMetrics(),
    clock,
    newAttempt: () => randomBytes(16).toString('hex'),
  });
  return {
    port: undefined,
    ended: presence.done,
    async stop() {
      presence.leave();
      await workers.drain(config.worker.drainMs);
      presence.end();
      await queue.close();
      await jobs.close();
      await nats.close();
    },
  };
}
