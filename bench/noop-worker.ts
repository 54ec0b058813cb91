/** A worker in a separate process whose loop is real and whose conversions do nothing: what is left is the way of an order. */
import { randomBytes } from 'node:crypto';
import { finish } from '../src/jobs/lifecycle.ts';
import { openNatsJobs } from '../src/jobs/nats/jobs.ts';
import { connectNats } from '../src/nats/connection.ts';
import { openNatsQueue } from '../src/queue/nats/queue.ts';
import { natsSignals } from '../src/signals/nats.ts';
import { createLog } from '../src/telemetry/log.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { natsPresence } from '../src/worker/nats.ts';
import { startWorker } from '../src/worker/orders/loop.ts';
import type { JobHandler } from '../src/worker/orders/process-order.ts';
import { startPresence } from '../src/worker/presence.ts';
import { answer, given } from './child.ts';
import { sharedNow } from './clock.ts';

export interface NoopWorker {
  readonly servers: readonly string[];
  readonly pool: string;
  /** Orders that it holds at a time. */
  readonly slots: number;
  /** Versions by engine id. */
  readonly engines: Readonly<Record<string, string>>;
}

/** What was done, when as many orders have ended as were asked about. */
export interface Done {
  /** When each was given to its conversion, by job: shared ms. */
  readonly started: ReadonlyMap<string, number>;
  readonly endedAt: number;
}

const { servers, pool, slots, engines } = given<NoopWorker>();
const nats = await connectNats({ servers, name: 'bench worker' });
let started = new Map<string, number>();
let ended = 0;
let report = () => {};

const handleJob: JobHandler = async ({ id }) => {
  started.set(id, sharedNow());
  const output = { key: `jobs/${id}`, filename: 'a.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
  return (record, now) => finish(record, now, { output, warnings: [], engine: { name: 'none', version: '1' } });
};
const presence = startPresence(
  natsPresence(nats),
  { pool, toolchain: 'image', worker: `bench-${process.pid}`, slots },
  { conversionsPerWorker: 0, idleSeconds: 0 },
  () => ({ engines, broken: new Map(), fault: undefined }),
);
const shared = { jobs: openNatsJobs(nats), queue: openNatsQueue(nats), signals: natsSignals(nats), log: createLog('silent') };
for (let slot = 0; slot < slots; slot++)
  startWorker({
    ...shared,
    heldDeliveries: new Map(),
    pool,
    grant: async () => ({ version: 1, inputs: [], output: '' }),
    handleJob,
    reserve() {
      const place = presence.reserve();
      let taken = 0;
      const take = () => {
        place?.take();
        taken = 1;
      };
      const end = () => {
        place?.[Symbol.dispose]();
        ended += taken;
        if (taken > 0) report();
      };
      return place && { take, [Symbol.dispose]: end };
    },
    metrics: createMetrics(),
    clock: Date.now,
    newAttempt: () => randomBytes(16).toString('hex'),
  });

answer<{ readonly count: number }>(
  ({ count }) =>
    new Promise<Done>((resolve) => {
      report = () => {
        if (ended < count) return;
        const done = { started, endedAt: sharedNow() };
        [started, ended, report] = [new Map(), 0, () => {}];
        resolve(done);
      };
      report();
    }),
);
