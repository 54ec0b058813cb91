/** A job's record and its order: both are stored, or neither, in one pool. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiDeps } from '../../../src/api/deps.ts';
import { ownedInputs } from '../../../src/api/intake/inputs.ts';
import { createJobs, enqueueAll } from '../../../src/api/submit/enqueue.ts';
import { Failure } from '../../../src/errors.ts';
import { BATCH_VERSION, type BatchRecord, type BatchStore } from '../../../src/jobs/batch.ts';
import { isLeaving } from '../../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { openSqliteBatches } from '../../../src/jobs/sqlite/batches.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../../../src/jobs/store.ts';
import { openDirectory } from '../../../src/objects/directory.ts';
import type { ObjectStore } from '../../../src/objects/store.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import type { Room } from '../../../src/queue/room.ts';
import { openSqliteQueue } from '../../../src/queue/sqlite.ts';
import { memorySignals } from '../../../src/signals/memory.ts';
import { anOrder, aPool, aRecord, START, someId } from '../../conformance/samples.ts';

let folder: string;
let jobs: JobStore;
let queue: Queue;
let batches: BatchStore;
let objects: ObjectStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-enqueue-'));
  const clock = () => START;
  jobs = openSqliteJobs(join(folder, 'db'), clock, () => {});
  queue = openSqliteQueue(join(folder, 'db'), clock, { capacity: 1 });
  batches = openSqliteBatches(join(folder, 'db'));
  objects = await openDirectory(join(folder, 'objects'));
});
afterEach(async () => {
  await batches.close();
  await queue.close();
  await jobs.close();
  await rm(folder, { recursive: true, force: true });
});

const pools = new Map(['a', 'b'].map((name, preference) => [name, aPool(name, { preference, engines: new Map(), seenAt: START })]));
/** It says what it knows too late: the queue has the last word. */
const room: Room = { isFull: async () => false };
const fill = (pool: string) => queue.publish(anOrder({ pool }));
const records = async () => (await Array.fromAsync(jobs.scan())).map(({ record }) => record);
const waiting = async () => [(await queue.depth('a')).waiting, (await queue.depth('b')).waiting];
/** @param instead of what there is of jobs */
const stores = (instead: Partial<ApiDeps['jobs']> = {}) =>
  ({
    jobs: { store: jobs, queue, batches, room, signals: memorySignals(), clock: () => START, ...instead },
    files: { objects },
    catalogue: { pools },
  }) as unknown as Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>;
const broken = async () => {
  throw new Error('no');
};

/** As routes do it. @param claim the step between the record and its order */
async function submit(deps: ReturnType<typeof stores>, record: JobRecord, claim = async () => {}): Promise<JobRecord> {
  await using created = await createJobs(deps, [record]);
  await claim();
  const [queued] = await enqueueAll(deps, created, 'c');
  created.keep();
  return queued ?? record;
}

describe('a job', () => {
  it('waits in its own pool', async () => {
    const record = aRecord({ pool: 'a' });
    expect(await submit(stores(), record)).toEqual(record);
    expect([await queue.has('a', record.id), await queue.has('b', record.id)]).toEqual([true, false]);
  });

  it('has no record at all where it is known that there is no room', async () => {
    let creations = 0;
    const create: JobStore['create'] = (record) => {
      creations++;
      return jobs.create(record);
    };
    const store = { ...jobs, create };
    const full: Room = { isFull: async () => true };
    await expect(submit(stores({ store, room: full }), aRecord({ pool: 'a' }))).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { pool: 'a' },
    });
    const halfFull: Room = { isFull: async (pool) => pool === 'a' };
    await expect(submit(stores({ store, room: halfFull }), aRecord({ pool: 'a' }))).resolves.toBeDefined();
    expect(creations).toBe(1);
  });

  it('waits in another that can do it where its own has no room, and is not left in the first', async () => {
    await fill('a');
    const record = await submit(stores(), aRecord({ pool: 'a' }));
    expect(await records()).toEqual([record]);
    expect([record.pool, await queue.has('a', record.id), await queue.has('b', record.id)]).toEqual(['b', false, true]);
  });

  it('can be found at every moment of its way to another pool', async () => {
    await fill('a');
    const found: (JobRecord | undefined)[] = [];
    const looked =
      <A extends unknown[], T>(write: (...args: A) => Promise<T>) =>
      async (...args: A): Promise<T> => {
        found.push((await jobs.get(created.id))?.record);
        return write(...args);
      };
    const created = aRecord({ pool: 'a' });
    const deps = stores({ store: { ...jobs, update: looked(jobs.update), move: looked(jobs.move), remove: looked(jobs.remove) } });
    const record = await submit(deps, created);
    expect(found.map((each) => each?.id)).toEqual(found.map(() => created.id));
    // A process that dies before the second of these leaves what upkeep moves on.
    expect(found.map((each) => each && isLeaving(each))).toEqual([false, true, false]);
    expect((await jobs.get(record.id))?.record.moved).toBeUndefined();
    expect([record.pool, await queue.has('b', record.id)]).toEqual(['b', true]);
  });

  it('is refused where none has room, and nothing of it is left', async () => {
    await fill('a');
    await fill('b');
    await expect(submit(stores(), aRecord({ pool: 'a' }))).rejects.toMatchObject({ code: 'OVERLOADED', details: { pool: 'a' } });
    expect(await records()).toEqual([]);
  });

  it.each([
    ['came', true],
    ['did not come', false],
  ])('stands where the answer to its order is lost, which %s, and is sent nowhere else', async (_, came) => {
    const publish: Queue['publish'] = async (order) => {
      if (came) await queue.publish(order);
      throw new Failure('OVERLOADED');
    };
    const record = await submit(stores({ queue: { ...queue, publish } }), aRecord({ pool: 'a' }));
    expect(await records()).toEqual([record]);
    expect([await queue.has('a', record.id), await queue.has('b', record.id)]).toEqual([came, false]);
  });

  it('is taken back where its order cannot be published at all, or its claim is lost', async () => {
    const withoutQueue = stores({ queue: { ...queue, publish: broken } });
    await expect(submit(withoutQueue, aRecord({ id: someId(), pool: 'a' }))).rejects.toThrow('no');
    await expect(submit(stores(), aRecord({ pool: 'a' }), broken)).rejects.toThrow('no');
    expect(await records()).toEqual([]);
    expect(await waiting()).toEqual([0, 0]);
  });

  it('is cancelled where its request fails after it was queued: a worker may have claimed it', async () => {
    const record = aRecord({ pool: 'a' });
    const failing = async () => {
      await using created = await createJobs(stores(), [record]);
      await enqueueAll(stores(), created, 'c');
      throw new Error('no');
    };
    await expect(failing()).rejects.toThrow('no');
    expect((await records()).map(({ state }) => state)).toEqual(['cancelled']);
    expect(await waiting()).toEqual([0, 0]);
  });
});

describe('the jobs of a batch', () => {
  const id = 'bat_0123456789abcdef';
  const two = () => [aRecord({ pool: 'a' }), aRecord({ pool: 'b' })];

  async function submitBatch(deps: ReturnType<typeof stores>, all: readonly JobRecord[], claim = async () => {}) {
    const batch = { version: BATCH_VERSION, id, createdAt: START, jobs: all.map((record) => record.id) } satisfies BatchRecord;
    await using created = await createJobs(deps, all, batch);
    await claim();
    const queued = await enqueueAll(deps, created, 'c');
    created.keep();
    return queued;
  }

  it('are all there with their batch when their key is claimed, and none of their orders is', async () => {
    let seen: unknown;
    const queued = await submitBatch(stores(), two(), async () => {
      seen = [(await records()).length, (await batches.get(id))?.jobs.length, await waiting()];
    });
    expect(seen).toEqual([2, 2, [0, 0]]);
    expect(await waiting()).toEqual([1, 1]);
    expect(queued.map(({ pool }) => pool)).toEqual(['a', 'b']);
  });

  it('are gone with their batch where the claim is lost, and no order was ever there', async () => {
    let published = 0;
    const publish: Queue['publish'] = async (...order) => {
      published++;
      return queue.publish(...order);
    };
    await expect(submitBatch(stores({ queue: { ...queue, publish } }), two(), broken)).rejects.toThrow('no');
    expect([await records(), await batches.get(id), published]).toEqual([[], undefined, 0]);
  });

  it('are gone where one of them, or their batch, cannot be stored', async () => {
    const [first, second] = two();
    const create: JobStore['create'] = (record) => (record.id === second?.id ? broken() : jobs.create(record));
    await expect(submitBatch(stores({ store: { ...jobs, create } }), [first ?? aRecord(), second ?? aRecord()])).rejects.toThrow('no');
    expect(await records()).toEqual([]);
    await expect(submitBatch(stores({ batches: { ...batches, create: broken } }), two())).rejects.toThrow('no');
    expect(await records()).toEqual([]);
  });

  it('are refused together where one has no room, and no worker sees those that had', async () => {
    await expect(submitBatch(stores(), [...two(), aRecord({ pool: 'a' })])).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect((await records()).map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
    expect([await waiting(), await batches.get(id)]).toEqual([[0, 0], undefined]);
  });
});

describe('the inputs of a request', () => {
  const stored = async () => (await Array.fromAsync(objects.scan(''))).map(({ key }) => key);

  it('are removed at the end of their scope, unless a job keeps them', async () => {
    for (const key of ['kept', 'a', 'b']) await objects.put(key, Readable.from(['x']), 1);
    {
      await using inputs = ownedInputs(objects, ['kept']);
      inputs.keep();
    }
    {
      await using _ = ownedInputs(objects, ['a', 'b']);
    }
    expect(await stored()).toEqual(['kept']);
  });

  it('do not hide by their removal’s failure why the request failed', async () => {
    const refused = async () => {
      await using _ = ownedInputs({ ...objects, delete: broken }, ['a']);
      throw new Failure('INVALID_FORMAT');
    };
    await expect(refused()).rejects.toMatchObject({ code: 'INVALID_FORMAT' });
  });
});
