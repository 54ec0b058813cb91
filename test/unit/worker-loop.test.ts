/** What a worker makes of an order that lapsed because this very process was late, and of one that fails without a known cause. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { conversionFailed } from '../../src/errors.ts';
import { finish, MAX_CLAIMS } from '../../src/jobs/lifecycle.ts';
import { openJobs } from '../../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../../src/jobs/store.ts';
import { ACK_WAIT_MS, type Queue } from '../../src/queue/queue.ts';
import { openQueue } from '../../src/queue/sqlite.ts';
import { memorySignals } from '../../src/signals/memory.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { type HeldOrders, type JobHandler, startWorker, type Worker } from '../../src/worker/loop.ts';
import { anOrder, aRecord, START } from '../conformance/samples.ts';

let folder: string;
let jobs: JobStore;
let queue: Queue;
let workers: Worker[];
let now: number;
let begun: number;
let finishing: PromiseWithResolvers<void>;
const clock = () => now;

beforeEach(async () => {
  [workers, now, begun, finishing] = [[], START, 0, Promise.withResolvers()];
  folder = await mkdtemp(join(tmpdir(), 'filemill-late-'));
  jobs = openJobs(join(folder, 'f.db'), clock);
  queue = openQueue(join(folder, 'f.db'), clock, { capacity: 10 });
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.drain(0)));
  await queue.close();
  await jobs.close();
  await rm(folder, { recursive: true });
});

const finishLater: JobHandler = async () => {
  begun++;
  await finishing.promise;
  const output = { key: 'k', filename: 'f.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
  return (record, at) => finish(record, at, { output, warnings: [], engine: { name: 'stub', version: '1' } });
};

const start = (heldOrders: HeldOrders, handleJob = finishLater) =>
  workers.push(
    startWorker({
      pool: 'image',
      jobs,
      queue,
      heldOrders,
      signals: memorySignals(),
      grant: async () => ({ version: 1, inputs: [], output: '' }),
      handleJob,
      log: createLog('silent'),
      metrics: createMetrics(),
      clock,
      newAttempt: () => crypto.randomUUID(),
    }),
  );

it('goes on in the hands of the worker that has it, however often it is handed out', async () => {
  const record = aRecord();
  await jobs.create(record);
  const order = anOrder({ jobId: record.id });
  await queue.publish(order);
  const heldOrders: HeldOrders = new Map();
  let pulls = 0;
  const pull = queue.pull.bind(queue);
  queue = {
    ...queue,
    async pull(...given) {
      const delivery = await pull(...given);
      if (delivery !== undefined) pulls++;
      return delivery;
    },
  };
  start(heldOrders);
  start(heldOrders);
  await vi.waitFor(() => expect(begun).toBe(1));
  for (let times = 2; times <= 5; times++) {
    // As if the process had been held for so long.
    now += ACK_WAIT_MS + 1;
    await vi.waitFor(() => expect(pulls).toBe(times), 5_000);
  }
  expect((await jobs.get(record.id))?.record).toMatchObject({ state: 'running', attempts: 1 });
  finishing.resolve();
  await vi.waitFor(async () => expect((await jobs.get(record.id))?.record.state).toBe('done'));
  expect((await jobs.get(record.id))?.record.attempts).toBe(1);
  await vi.waitFor(async () => expect(await queue.has('image', record.id)).toBe(false));
  expect([begun, heldOrders.size]).toEqual([1, 0]);
});

describe('an order that fails without a known cause', () => {
  const failing = (times: number, error: Error): JobHandler => {
    finishing.resolve();
    return (...given) => {
      if (begun < times) {
        begun++;
        throw error;
      }
      return finishLater(...given);
    };
  };
  const ended = async (handleJob: JobHandler) => {
    const record = aRecord();
    await jobs.create(record);
    await queue.publish(anOrder({ jobId: record.id }));
    start(new Map(), handleJob);
    await vi.waitFor(async () => {
      // A released order waits a while.
      now += 1_000;
      expect((await jobs.get(record.id))?.record.endedAt).toBeDefined();
    }, 10_000);
    await vi.waitFor(async () => expect(await queue.has('image', record.id)).toBe(false));
    return (await jobs.get(record.id))?.record;
  };

  it('is tried again', async () => {
    expect(await ended(failing(1, new TypeError('a mistake of ours')))).toMatchObject({ state: 'done', attempts: 2 });
    expect(begun).toBe(2);
  });

  it('fails when it was tried as often as one that crashes workers', async () => {
    const record = await ended(failing(10, conversionFailed('internal')));
    expect(record).toMatchObject({ state: 'error', failure: { reason: 'internal' }, attempts: MAX_CLAIMS });
    expect(begun).toBe(MAX_CLAIMS);
  });

  it('is not tried again where the cause is known', async () => {
    const record = await ended(failing(10, conversionFailed('corrupt_input')));
    expect(record).toMatchObject({ state: 'error', failure: { reason: 'corrupt_input' }, attempts: 1 });
    expect(begun).toBe(1);
  });
});
