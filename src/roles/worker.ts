/** A worker of one pool: it takes orders over NATS, and reaches files by the URLs that an API replica grants for each claim. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { toolchains } from '../catalog/route.ts';
import type { Config } from '../config.ts';
import { Grant } from '../contracts/grant.ts';
import { PRESENCE_VERSION, type Presence } from '../contracts/presence.ts';
import { openJobs } from '../jobs/nats.ts';
import { question } from '../nats/requests.ts';
import { sayPresence } from '../pools/nats.ts';
import { openQueue } from '../queue/nats.ts';
import { natsSignals } from '../signals/nats.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { startWorkers } from '../worker/workers.ts';
import { CannotStart } from './cannot-start.ts';
import { joinCluster } from './cluster.ts';
import { openConverters } from './converters.ts';
import { egressFor } from './fetch.ts';
import type { Running } from './running.ts';

/** How often a worker says that it is there, ms. */
const PRESENCE_MS = 5_000;

/** @param checkout absolute path of the project @param clock ms since the epoch */
export async function worker(config: Config, checkout: string, _version: string, clock: () => number = Date.now): Promise<Running> {
  const { pool } = config.worker;
  if (pool === undefined) throw new CannotStart('the role worker needs a pool: set POOL');
  const log = createLog(config.log.level);
  const nats = await joinCluster(config, `worker ${pool}`);
  const converters = await openConverters(config, checkout);
  const { catalog } = converters;
  const slots = config.worker.slots[pool];
  const mine = catalog.engines.filter(({ toolchains: own }) => own.includes(pool));
  const engines = Object.fromEntries(mine.map(({ id }) => [id, catalog.version(id)]));
  const name = `${hostname()
    .replace(/[^A-Za-z0-9_-]/g, '-')
    .slice(0, 40)}-${process.pid}`;
  let state: Presence['state'] = 'idle';
  let busy = 0;
  const say = () => sayPresence(nats, { version: PRESENCE_VERSION, pool, worker: name, state, slots, busy, engines });

  const done = Promise.withResolvers<void>();
  let taken = 0;
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
    onTurn(change) {
      busy += change;
      if (change > 0) taken++;
      state = state === 'draining' ? state : busy > 0 ? 'busy' : 'idle';
      say();
      if (taken === config.worker.conversionsPerWorker && busy === 0) done.resolve();
    },
    mayTake: () => config.worker.conversionsPerWorker === 0 || taken < config.worker.conversionsPerWorker,
    log,
    metrics: createMetrics(),
    clock,
    newAttempt: () => randomBytes(16).toString('hex'),
  });
  say();
  const timer = setInterval(say, PRESENCE_MS);
  return {
    port: undefined,
    ended: done.promise,
    async stop() {
      state = 'draining';
      say();
      await workers.drain(config.worker.drainMs);
      clearInterval(timer);
      await queue.close();
      await jobs.close();
      await nats.close();
    },
  };
}
