/** A job whose password no replica can decrypt: it rests for as long as one that can may be on its way, and then says what to do. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GrantRefused } from '../../../src/contracts/messages/grant.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../../../src/jobs/store.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import { openSqliteQueue } from '../../../src/queue/sqlite.ts';
import { memorySignals } from '../../../src/signals/memory.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { startWorker, type WorkerLoop } from '../../../src/worker/orders/loop.ts';
import { aRecord } from '../../conformance/samples.ts';
import { eventually } from '../../kit/api/wire.ts';

const MINUTES = 60_000;

let folder: string;
let jobs: JobStore;
let queue: Queue;
let worker: WorkerLoop;
let asked: number;
let now: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-unreadable-'));
  now = Date.now();
  asked = 0;
  jobs = openSqliteJobs(
    join(folder, 'jobs.db'),
    () => now,
    () => {},
    { exclusive: true },
  );
  queue = openSqliteQueue(join(folder, 'jobs.db'), () => now, { capacity: 10 });
  worker = startWorker({
    pool: 'image',
    jobs,
    queue,
    heldDeliveries: new Map(),
    signals: memorySignals(),
    grant: async () => {
      asked++;
      throw new GrantRefused('key_unknown', 'the password was encrypted with another key');
    },
    handleJob: () => Promise.reject(new Error('it was granted nothing')),
    log: createLog('silent'),
    metrics: createMetrics(),
    clock: () => now,
    newAttempt: () => crypto.randomUUID().replaceAll('-', ''),
  });
});
afterEach(async () => {
  await worker.drain(0);
  await queue.close();
  await jobs.close();
  await rm(folder, { recursive: true });
});

it('ends when it is ten minutes old, and before that is not counted', async () => {
  const { record } = await jobs.create(aRecord({ createdAt: now, expiresAt: now + 120 * MINUTES }));
  await queue.publish({ version: 1, jobId: record.id, pool: record.pool, lane: record.lane });
  await eventually(async () => asked > 0 && (await jobs.get(record.id))?.record.state === 'queued', 'it was given back');
  expect((await jobs.get(record.id))?.record.attempts).toBe(0);

  now += 11 * MINUTES;
  await eventually(async () => (await jobs.get(record.id))?.record.state === 'error', 'it ended');
  expect((await jobs.get(record.id))?.record.failure).toMatchObject({ reason: 'password_unreadable' });
});

it('waits as long again in the next pool of its recipe, however old it is', async () => {
  const old = aRecord({ createdAt: now - 30 * MINUTES, queuedAt: now, expiresAt: now + 120 * MINUTES });
  const { record } = await jobs.create(old);
  await queue.publish({ version: 1, jobId: record.id, pool: record.pool, lane: record.lane });
  await eventually(async () => asked > 0 && (await jobs.get(record.id))?.record.state !== 'running', 'it was given back, or ended');
  expect((await jobs.get(record.id))?.record.state).toBe('queued');
});
