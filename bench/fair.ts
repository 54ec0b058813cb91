/** A client with one job while a crowd's thousands wait: through the records, orders and worker loops of both stores; conversions only take their time. */
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { enqueue } from '../src/api/submit/enqueue.ts';
import { finish, newRecord } from '../src/jobs/lifecycle.ts';
import { ensureJobs, openNatsJobs } from '../src/jobs/nats/jobs.ts';
import type { JobRecord } from '../src/jobs/record.ts';
import { openSqliteJobs } from '../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../src/jobs/store.ts';
import { ensurePool } from '../src/queue/nats/pool.ts';
import { openNatsQueue } from '../src/queue/nats/queue.ts';
import type { Queue } from '../src/queue/queue.ts';
import { openSqliteQueue } from '../src/queue/sqlite.ts';
import { memorySignals } from '../src/signals/memory.ts';
import { createLog } from '../src/telemetry/log.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { startWorker } from '../src/worker/orders/loop.ts';
import { startNats } from '../test/kit/nats/nats.ts';
import { GOAL_HEAD, goalRow, sizeOf } from './rows.ts';

const POOL = 'image';
const SLOTS = 2;
/** Of one conversion. */
const TAKES_MS = 140;
const CLIENTS = 50;
/** Clients that come with one job while the crowd waits, one after the other. */
const SINGLES = 8;

interface Stores {
  readonly jobs: JobStore;
  readonly queue: Queue;
}

async function measure(what: string, { jobs, queue }: Stores): Promise<void> {
  const count = sizeOf('BENCH_CROWD', 2_000);
  const ended = new Map<string, PromiseWithResolvers<void>>();
  let left = count;
  const handleJob = async ({ id }: JobRecord) => {
    await pause(TAKES_MS);
    const output = { key: `jobs/${id}`, filename: 'a.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
    if (ended.has(id)) ended.get(id)?.resolve();
    else left--;
    return (record: JobRecord, now: number) => finish(record, now, { output, warnings: [], engine: { name: 'none', version: '1' } });
  };
  const order = async (client: string, id = randomBytes(16).toString('hex')) => {
    const record: JobRecord = {
      ...newRecord(id, Date.now()),
      ...{ pool: POOL, lane: 'interactive', filename: 'a.png', options: {}, warnings: [] },
      sources: [{ part: 0, sizeBytes: 1, format: 'png' }],
      target: { format: 'jpg', extension: 'jpg' },
    };
    await enqueue(
      { jobs: { store: jobs, queue, clock: Date.now }, catalogue: { pools: new Map() } },
      { stored: await jobs.create(record), isQueued: false },
      client,
    );
  };
  // As they come: each client's one after the other, all clients at once.
  const crowd = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let n = 0; n < count / CLIENTS; n++) await order(`crowd ${client}`);
  });
  await Promise.all(crowd);
  const workers = Array.from({ length: SLOTS }, () =>
    startWorker({
      ...{ pool: POOL, jobs, queue, handleJob, heldDeliveries: new Map(), clock: Date.now },
      grant: async () => ({ version: 1, inputs: [], output: '' }),
      signals: memorySignals(),
      log: createLog('silent'),
      metrics: createMetrics(),
      newAttempt: () => randomBytes(16).toString('hex'),
    }),
  );
  // The first jobs of the crowd are under way, as in any service that has been busy for a while.
  while (left > count - 2 * CLIENTS) await pause(TAKES_MS);
  const took: number[] = [];
  const waiting: number[] = [];
  for (let single = 0; single < SINGLES; single++) {
    const id = randomBytes(16).toString('hex');
    const end = Promise.withResolvers<void>();
    ended.set(id, end);
    waiting.push(left);
    const began = performance.now();
    await order(`single ${single}`, id);
    await end.promise;
    took.push(performance.now() - began);
  }
  await Promise.all(workers.map((worker) => worker.drain(1_000)));
  const [most, least] = [Math.max(...waiting), Math.min(...waiting)].map((number) => number.toLocaleString('en'));
  goalRow(
    `one job of another client, ${TAKES_MS} ms alone, while ${most} to ${least} of ${CLIENTS} clients wait for ${SLOTS} slots, ${what}`,
    'at most 2 s',
    `${Math.round(Math.min(...took))} to ${Math.round(Math.max(...took))} ms, of ${SINGLES}`,
  );
}

/** @param folder for a database that goes with the run */
export async function fair(folder: string): Promise<void> {
  console.log(`\n${GOAL_HEAD}`);
  const path = join(await mkdtemp(join(folder, 'fair-')), 'filemill.db');
  const embedded = { jobs: openSqliteJobs(path, Date.now), queue: openSqliteQueue(path, Date.now, { capacity: 10_000 }) };
  await measure('embedded', embedded);
  await Promise.all([embedded.queue.close(), embedded.jobs.close()]);

  const servers = await startNats();
  try {
    const nats = await servers.connect();
    await ensureJobs(nats, 1);
    await ensurePool(nats, POOL, { capacity: 10_000, replicas: 1 });
    const queue = openNatsQueue(nats);
    await measure('over NATS', { jobs: openNatsJobs(nats), queue });
    await queue.close();
  } finally {
    await servers.stop();
  }
}
