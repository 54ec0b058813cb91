/** A job's record and its order: both are there, or neither, in one pool. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { orRemove } from '../../src/api/intake/inputs.ts';
import { enqueue, enqueueAll } from '../../src/api/jobs/enqueue.ts';
import { Failure } from '../../src/errors.ts';
import { openJobs } from '../../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../../src/jobs/store.ts';
import type { ObjectStore } from '../../src/objects/store.ts';
import type { Queue } from '../../src/queue/queue.ts';
import type { Room } from '../../src/queue/room.ts';
import { openQueue } from '../../src/queue/sqlite.ts';
import { memorySignals } from '../../src/signals/memory.ts';
import { anOrder, aPool, aRecord, START, someId } from '../conformance/samples.ts';

let folder: string;
let jobs: JobStore;
let queue: Queue;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-enqueue-'));
  const clock = () => START;
  jobs = openJobs(join(folder, 'db'), clock, () => {});
  queue = openQueue(join(folder, 'db'), clock, { capacity: 1 });
});
afterEach(async () => {
  await queue.close();
  await jobs.close();
  await rm(folder, { recursive: true, force: true });
});

const pools = new Map(['a', 'b'].map((name, preference) => [name, aPool(name, { preference, engines: new Map(), seenAt: START })]));
/** It says what it knows too late: the queue has the last word. */
const room: Room = { isFull: async () => false };
const fill = (pool: string) => queue.publish(anOrder({ pool }));
const records = async () => (await Array.fromAsync(jobs.scan())).map(({ record }) => record);

describe('a job', () => {
  it('waits in its own pool', async () => {
    const record = aRecord({ pool: 'a' });
    expect(await enqueue({ jobs, queue, pools, room }, record, 'c')).toEqual(record);
    expect([await queue.has('a', record.id), await queue.has('b', record.id)]).toEqual([true, false]);
  });

  it('has no record at all where it is known that there is no room', async () => {
    let made = 0;
    const create: JobStore['create'] = (record) => {
      made++;
      return jobs.create(record);
    };
    const full: Room = { isFull: async () => true };
    const parts = { jobs: { ...jobs, create }, queue, pools, room: full };
    await expect(enqueue(parts, aRecord({ pool: 'a' }), 'c')).rejects.toMatchObject({ code: 'OVERLOADED', details: { pool: 'a' } });
    const halfFull: Room = { isFull: async (pool) => pool === 'a' };
    await expect(enqueue({ ...parts, room: halfFull }, aRecord({ pool: 'a' }), 'c')).resolves.toBeDefined();
    expect(made).toBe(1);
  });

  it('waits in another that can do it where its own has no room, claimed once, and is not left in the first', async () => {
    await fill('a');
    let claims = 0;
    const record = await enqueue({ jobs, queue, pools, room }, aRecord({ pool: 'a' }), 'c', async () => {
      claims++;
    });
    expect(await records()).toEqual([record]);
    expect([record.pool, claims, await queue.has('a', record.id), await queue.has('b', record.id)]).toEqual(['b', 1, false, true]);
  });

  it('is refused where none has room, and nothing of it is left', async () => {
    await fill('a');
    await fill('b');
    await expect(enqueue({ jobs, queue, pools, room }, aRecord({ pool: 'a' }), 'c')).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { pool: 'a' },
    });
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
    const record = await enqueue({ jobs, queue: { ...queue, publish }, pools, room }, aRecord({ pool: 'a' }), 'c');
    expect(await records()).toEqual([record]);
    expect([await queue.has('a', record.id), await queue.has('b', record.id)]).toEqual([came, false]);
  });

  it('is taken back where its order cannot be published at all, or its claim is lost', async () => {
    const broken = async () => {
      throw new Error('no');
    };
    await expect(
      enqueue({ jobs, queue: { ...queue, publish: broken }, pools, room }, aRecord({ id: someId(), pool: 'a' }), 'c'),
    ).rejects.toThrow('no');
    await expect(enqueue({ jobs, queue, pools, room }, aRecord({ pool: 'a' }), 'c', broken)).rejects.toThrow('no');
    expect(await records()).toEqual([]);
    expect((await queue.depth('a')).waiting).toBe(0);
  });
});

describe('the jobs of a batch', () => {
  const parts = () => ({
    jobs,
    queue,
    pools,
    room,
    objects: { delete: async () => {} } as unknown as ObjectStore,
    signals: memorySignals(),
    clock: () => START,
  });
  const two = () => [aRecord({ pool: 'a' }), aRecord({ pool: 'b' })];

  it('are all there when their key is claimed, and none of their orders is', async () => {
    const seen: number[] = [];
    const placed = await enqueueAll(parts(), two(), 'c', async () => {
      seen.push((await records()).length, (await queue.depth('a')).waiting, (await queue.depth('b')).waiting);
    });
    expect(seen).toEqual([2, 0, 0]);
    expect([(await queue.depth('a')).waiting, (await queue.depth('b')).waiting]).toEqual([1, 1]);
    expect(placed.map(({ pool }) => pool)).toEqual(['a', 'b']);
  });

  it('are nobody’s where the claim is lost, and no order was ever there', async () => {
    const lost = async () => {
      throw new Error('lost');
    };
    await expect(enqueueAll(parts(), two(), 'c', lost)).rejects.toThrow('lost');
    expect((await records()).map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
    expect([(await queue.depth('a')).waiting, (await queue.depth('b')).waiting]).toEqual([0, 0]);
  });

  it('are refused together where one has no room', async () => {
    await expect(enqueueAll(parts(), [...two(), aRecord({ pool: 'a' })], 'c', async () => {})).rejects.toMatchObject({
      code: 'OVERLOADED',
    });
    expect([(await queue.depth('a')).waiting, (await queue.depth('b')).waiting]).toEqual([0, 0]);
  });
});

it('a clean-up that fails does not hide why there was one', async () => {
  const objects = {
    delete: async () => {
      throw new Error('the disk is gone');
    },
  } as unknown as ObjectStore;
  const refused = async () => {
    throw new Failure('INVALID_FORMAT');
  };
  await expect(orRemove(objects, ['a'], refused)).rejects.toMatchObject({ code: 'INVALID_FORMAT' });
});
