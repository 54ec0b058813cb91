/** What a worker makes of an order that lapsed because this very process was late, and of one that fails without a known cause. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SMALL_ORDER_BYTES } from '../../../src/contracts/messages/order.ts';
import { conversionFailed } from '../../../src/errors.ts';
import { finish, MAX_CLAIMS } from '../../../src/jobs/lifecycle.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../../../src/jobs/store.ts';
import { ACK_WAIT_MS, type Queue } from '../../../src/queue/queue.ts';
import { openSqliteQueue } from '../../../src/queue/sqlite.ts';
import { memorySignals } from '../../../src/signals/memory.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { ownTimes } from '../../../src/worker/orders/give-way.ts';
import type { HeldDeliveries } from '../../../src/worker/orders/held-delivery.ts';
import { startWorker, type WorkerDeps, type WorkerLoop } from '../../../src/worker/orders/loop.ts';
import { poolSlots } from '../../../src/worker/orders/pool-slots.ts';
import type { JobHandler } from '../../../src/worker/orders/process-order.ts';
import { anOrder, aRecord, START } from '../../conformance/samples.ts';

let folder: string;
let jobs: JobStore;
let queue: Queue;
let workers: WorkerLoop[];
let now: number;
let begun: number;
let finishing: PromiseWithResolvers<void>;
const clock = () => now;

beforeEach(async () => {
  [workers, now, begun, finishing] = [[], START, 0, Promise.withResolvers()];
  folder = await mkdtemp(join(tmpdir(), 'filemill-late-'));
  jobs = openSqliteJobs(join(folder, 'f.db'), clock);
  queue = openSqliteQueue(join(folder, 'f.db'), clock, { capacity: 10 });
});
afterEach(async () => {
  // A drain waits for the handler.
  finishing.resolve();
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

const start = (heldDeliveries: HeldDeliveries, handleJob = finishLater, more: Partial<WorkerDeps> = {}) =>
  workers.push(
    startWorker({
      pool: 'image',
      jobs,
      queue,
      heldDeliveries,
      signals: memorySignals(),
      grant: async () => ({ version: 1, inputs: [], output: '' }),
      handleJob,
      log: createLog('silent'),
      metrics: createMetrics(),
      clock,
      newAttempt: () => crypto.randomUUID(),
      ...more,
    }),
  );

it('goes on in the hands of the worker that has it, however often it is handed out', async () => {
  const record = aRecord();
  await jobs.create(record);
  const order = anOrder({ jobId: record.id });
  await queue.publish(order);
  const heldDeliveries: HeldDeliveries = new Map();
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
  start(heldDeliveries);
  start(heldDeliveries);
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
  expect([begun, heldDeliveries.size]).toEqual([1, 0]);
});

it('claims a job by its pool: a store may need longer to find it by its id alone', async () => {
  const record = aRecord();
  await jobs.create(record);
  const pools: (string | undefined)[] = [];
  const get: JobStore['get'] = (id, pool) => {
    pools.push(pool);
    return jobs.get(id, pool);
  };
  await queue.publish(anOrder({ jobId: record.id }));
  start(new Map(), finishLater, { jobs: { ...jobs, get } });
  await vi.waitFor(() => expect(begun).toBe(1));
  finishing.resolve();
  expect(pools).toEqual(['image']);
});

describe('a delivery that something keeps alive', () => {
  /** What was said of each delivery, as they came. */
  let said: string[][];
  beforeEach(() => {
    said = [];
    const pull = queue.pull.bind(queue);
    queue = {
      ...queue,
      async pull(...given) {
        const delivery = await pull(...given);
        if (delivery === undefined) return undefined;
        const words: string[] = [];
        said.push(words);
        const { release, done } = delivery;
        return {
          ...delivery,
          forgo: () => void words.push('forgo'),
          release(delayMs) {
            words.push('release');
            return release(delayMs);
          },
          done() {
            words.push('done');
            return done();
          },
        };
      },
    };
  });
  const publish = async () => {
    const record = aRecord();
    await jobs.create(record);
    await queue.publish(anOrder({ jobId: record.id }));
    return record.id;
  };

  it('is left to its ack wait where the worker fails before the order has ended, and others get it', async () => {
    const id = await publish();
    let isBroken = true;
    const get: JobStore['get'] = (...given) => (isBroken ? Promise.reject(new TypeError('a mistake of ours')) : jobs.get(...given));
    start(new Map(), finishLater, { jobs: { ...jobs, get } });
    await vi.waitFor(() => expect(said).toEqual([['forgo']]));
    isBroken = false;
    now += ACK_WAIT_MS + 1;
    finishing.resolve();
    await vi.waitFor(async () => expect((await jobs.get(id))?.record.state).toBe('done'));
    await vi.waitFor(() => expect(said).toEqual([['forgo'], ['done']]));
  });

  it('is forgone for the next one of the same order', async () => {
    await publish();
    const heldDeliveries: HeldDeliveries = new Map();
    for (let count = 0; count < 2; count++) start(heldDeliveries);
    await vi.waitFor(() => expect(begun).toBe(1));
    now += ACK_WAIT_MS + 1;
    await vi.waitFor(() => expect(said).toEqual([['forgo'], []]), 5_000);
    finishing.resolve();
    await vi.waitFor(() => expect(said).toEqual([['forgo'], ['done']]));
  });
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

describe('beside a client whose jobs run long', () => {
  /** In s. */
  const sharing = { express: true, expressSeconds: 0.2, severalSeconds: 0.3, giveWaySeconds: 0.3 };
  const HANGS = 'hangs';
  /** By job, how it began: the client's that is named `hangs` do not end by themselves. */
  let began: string[];
  const names = new Map<string, string>();
  const handleJob: JobHandler = async (record, _grant, { signal }) => {
    const name = names.get(record.id) ?? '';
    began.push(name);
    if (name.startsWith(HANGS)) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const output = { key: 'k', filename: 'f.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
    return (at, time) => finish(at, time, { output, warnings: [], engine: { name: 'stub', version: '1' } });
  };
  beforeEach(() => {
    began = [];
    // Giving way is a matter of real time here.
    now = Date.now();
  });

  const publish = async (client: string, { sizeBytes = 1_000 } = {}): Promise<string> => {
    const record = aRecord({ sources: [{ part: 0, sizeBytes, format: 'png' }] });
    names.set(record.id, client);
    await jobs.create(record);
    await queue.publish(anOrder({ jobId: record.id }), { client, isSmall: sizeBytes <= SMALL_ORDER_BYTES });
    return record.id;
  };
  /** @param count of slots, beside the express slot */
  const open = (count: number, more: Partial<WorkerDeps> = {}) => {
    const slots = poolSlots(count);
    const heldDeliveries: HeldDeliveries = new Map();
    for (let n = 0; n <= count; n++) start(heldDeliveries, handleJob, { slots, express: n === count, sharing, ...more });
  };
  const recordOf = async (id: string) => (await jobs.get(id))?.record;
  const isDone = (id: string) => vi.waitFor(async () => expect((await recordOf(id))?.state).toBe('done'), 10_000);

  it('a small job of another begins at once, in the express slot', async () => {
    open(2, { sharing: { ...sharing, severalSeconds: 3_600, giveWaySeconds: 3_600 } });
    await publish(HANGS);
    await publish(HANGS);
    await vi.waitFor(() => expect(began).toEqual([HANGS, HANGS]));
    // One more of the same client waits.
    await publish(HANGS);
    await isDone(await publish('small'));
    expect(began).toEqual([HANGS, HANGS, 'small']);
  });

  it('the express slot is for no large file, which begins when a job has had its time', async () => {
    open(1);
    const long = await publish(HANGS);
    await vi.waitFor(() => expect(began).toHaveLength(1));
    await isDone(await publish('large', { sizeBytes: SMALL_ORDER_BYTES + 1 }));
    await vi.waitFor(() => expect(began).toEqual([HANGS, 'large', HANGS]));
    expect(await recordOf(long)).toMatchObject({ state: 'running', attempts: 1, gaveWay: 1 });
  });

  it('what fills the express slot too gives way, though small', async () => {
    open(1, { sharing: { ...sharing, severalSeconds: 3_600, giveWaySeconds: 3_600 } });
    await publish(`${HANGS} 1`);
    await vi.waitFor(() => expect(began).toHaveLength(1));
    const second = await publish(`${HANGS} 2`);
    await vi.waitFor(() => expect(began).toHaveLength(2));
    await isDone(await publish('small'));
    expect(await recordOf(second)).toMatchObject({ state: 'queued', attempts: 0, gaveWay: 1, lane: 'interactive' });
    expect(began).toEqual([`${HANGS} 1`, `${HANGS} 2`, 'small']);
  });

  it('a job of a client that has several gives way sooner than one that is alone', async () => {
    // None for the express slot.
    const large = { sizeBytes: SMALL_ORDER_BYTES + 1 };
    open(2, { sharing: { ...sharing, giveWaySeconds: 3_600 } });
    const alone = await publish(`${HANGS} alone`, large);
    await vi.waitFor(() => expect(began).toHaveLength(1));
    const many = [await publish(HANGS, large), await publish(HANGS, large)];
    await vi.waitFor(() => expect(began).toEqual([`${HANGS} alone`, HANGS]));
    await isDone(await publish('other', large));
    expect(began.slice(0, 3)).toEqual([`${HANGS} alone`, HANGS, 'other']);
    expect((await recordOf(alone))?.gaveWay).toBeUndefined();
    expect(await Promise.all(many.map(async (id) => (await recordOf(id))?.gaveWay))).toContain(1);
  });

  it('a job runs on as long as no other client waits', async () => {
    open(1);
    const id = await publish(HANGS);
    await vi.waitFor(() => expect(began).toHaveLength(1));
    await publish(HANGS);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(began).toEqual([HANGS]);
    expect((await recordOf(id))?.gaveWay).toBeUndefined();
  });

  it('what an express slot has too little memory for is done in another slot', async () => {
    const slots = poolSlots(1);
    const occupied = slots.enter().occupy();
    const failing: JobHandler = () => Promise.reject(conversionFailed('memory'));
    start(new Map(), failing, { slots, express: true, sharing });
    const id = await publish('small');
    await vi.waitFor(async () => expect((await recordOf(id))?.gaveWay).toBe(1));
    expect(await recordOf(id)).toMatchObject({ state: 'queued', attempts: 0 });
    occupied[Symbol.dispose]();
    start(new Map(), handleJob, { slots, sharing });
    await isDone(id);
  });

  it('what is converted does not give way, while it is packed and uploaded', async () => {
    const uploading: JobHandler = async (...given) => {
      given[2].onPhase('packing');
      await finishing.promise;
      return finishLater(...given);
    };
    start(new Map(), uploading, { sharing });
    const id = await publish(HANGS);
    await vi.waitFor(async () => expect((await recordOf(id))?.state).toBe('running'));
    await publish('other', { sizeBytes: SMALL_ORDER_BYTES + 1 });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await recordOf(id)).toMatchObject({ state: 'running', attempts: 1 });
    finishing.resolve();
    await isDone(id);
  });
});

describe('the time of a job before it gives way', () => {
  const sharing = { express: true, expressSeconds: 4, severalSeconds: 3, giveWaySeconds: 10 };
  const of = (sizeBytes: number, gaveWay?: number) => ({
    sources: [{ part: 0, sizeBytes, format: 'png' }],
    ...(gaveWay !== undefined && { gaveWay }),
  });

  it.each([
    ['a small file', of(2_000), false, 10_002, 3_002],
    ['a large file', of(100 << 20), false, 110_000, 103_000],
    ['one that gave way', of(100 << 20, 1), false, 220_000, 110_000],
    ['one that gave way often', of(0, 5), false, 320_000, 160_000],
    ['any in an express slot', of(1 << 20), true, 4_000, 4_000],
  ])('for %s: of a client that has no other, and of one that has several', (_, record, express, onlyMs, severalMs) => {
    const own = ownTimes(record, express, sharing);
    expect(own.onlyMs).toBeCloseTo(onlyMs, -2);
    expect(own.severalMs).toBeCloseTo(severalMs, -2);
  });

  it('is never longer where its client has others', () =>
    expect(ownTimes(of(0), false, { ...sharing, severalSeconds: 60 })).toEqual({ onlyMs: 10_000, severalMs: 10_000 }));
});

describe('several slots of a pool', () => {
  /** Which slot each job was done in. @param ms how long each takes */
  const openThree = (ms: number) => {
    const [slots, heldDeliveries, by] = [poolSlots(3), new Map() as HeldDeliveries, [] as number[]];
    for (let place = 0; place < 3; place++)
      start(
        heldDeliveries,
        async () => {
          by.push(place);
          await new Promise((resolve) => setTimeout(resolve, ms));
          const output = { key: 'k', filename: 'f.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
          return (record, at) => finish(record, at, { output, warnings: [], engine: { name: 'stub', version: '1' } });
        },
        { slots },
      );
    return by;
  };
  const send = async () => {
    const record = aRecord();
    await jobs.create(record);
    await queue.publish(anOrder({ jobId: record.id }));
    return async () => (await jobs.get(record.id))?.record.state === 'done';
  };

  it('leave what comes one at a time to the first, whose programs are warm', async () => {
    const by = openThree(5);
    for (let n = 0; n < 8; n++) {
      const isDone = await send();
      await vi.waitFor(async () => expect(await isDone()).toBe(true), { timeout: 10_000, interval: 5 });
    }
    expect(by).toEqual(Array(8).fill(0));
  });

  it('work beside each other on what comes at once', async () => {
    const by = openThree(100);
    const ends = await Promise.all([send(), send(), send()]);
    await vi.waitFor(async () => expect(await Promise.all(ends.map((isDone) => isDone()))).toEqual([true, true, true]), 10_000);
    expect(by.toSorted()).toEqual([0, 1, 2]);
  });
});

it('counts by engine what a result lacks that is not delivered', async () => {
  const [record, metrics] = [aRecord(), createMetrics()];
  await jobs.create(record);
  await queue.publish(anOrder({ jobId: record.id }));
  const fail: JobHandler = () => Promise.reject(conversionFailed('property_lost', { details: { engine: 'Pandoc', lost: ['text'] } }));
  start(new Map(), fail, { metrics });
  await vi.waitFor(async () => expect((await jobs.get(record.id))?.record.failure?.reason).toBe('property_lost'));
  expect(await metrics.text()).toContain('filemill_fidelity_lost_total{engine="Pandoc",property="text"} 1');
});
