/** How orders leave a pool without workers, over the embedded stores. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claim, passOn } from '../../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../../../src/jobs/store.ts';
import type { Pool } from '../../../src/pools/registry.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import { openSqliteQueue } from '../../../src/queue/sqlite.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { moveOn, NOTHING_CHECKED, rerouteOnce } from '../../../src/upkeep/reroute.ts';
import { DESERTED_MS, UNSERVED_MS } from '../../../src/upkeep/reroutes.ts';
import { anOrder, aPool, aRecord, jobId, START } from '../../conformance/samples.ts';

/** Orders that one check looks at. */
const A_LOOK = 500;

let folder: string;
let jobs: JobStore;
let queue: Queue;
let now: number;
const clock = () => now;

beforeEach(async () => {
  now = START;
  folder = await mkdtemp(join(tmpdir(), 'filemill-reroute-'));
  jobs = openSqliteJobs(join(folder, 'f.db'), clock);
  queue = openSqliteQueue(join(folder, 'f.db'), clock, { capacity: 2 * A_LOOK });
});
afterEach(async () => {
  await queue.close();
  await jobs.close();
  await rm(folder, { recursive: true });
});

const add = async (change: Partial<JobRecord>): Promise<string> => {
  const { record } = await jobs.create(aRecord(change));
  await queue.publish(anOrder({ jobId: record.id, pool: record.pool }));
  return record.id;
};

/** @returns one check after another */
const checksOf = (...pools: readonly Pool[]) => {
  const all = new Map(pools.map((pool) => [pool.name, pool]));
  const registry = { pools: () => all, removed: () => new Map() };
  let known = NOTHING_CHECKED;
  return async () => {
    known = await rerouteOnce({ jobs, queue, registry, clock, log: createLog('silent') }, known);
  };
};

it('however many orders may not leave, those behind them do', async () => {
  const check = checksOf(aPool('image', { workers: 0 }), aPool('image-b'));
  for (let n = 0; n <= A_LOOK; n++) await add({ id: jobId(n), moved: { from: 'image-c', to: 'image', at: START } });
  const behind = await add({ id: jobId(A_LOOK + 1) });
  await check();
  now += UNSERVED_MS;
  for (let times = 0; times < 2; times++) await check();
  expect((await jobs.get(behind))?.record.pool).toBe('image-b');
  expect(await queue.jobs('image-b')).toEqual(new Set([behind]));
  // Then the first ones again.
  const before = await add({ id: '0'.repeat(31) });
  await check();
  expect((await jobs.get(before))?.record.pool).toBe('image-b');
});

it('a recipe that goes on in a pool without workers leaves it, though it has come from another', async () => {
  const check = checksOf(aPool('image', { workers: 0 }), aPool('image-b'));
  const stints = ['pdf', 'image'].map((pool, step) => ({ pool, runs: [[step, 'png'] satisfies [number, string]] }));
  const recipe = { steps: [], outputs: [], names: [], stints, at: 0, client: 'c' };
  const running = aRecord({ pool: 'pdf', state: 'running', attempt: 'a', recipe });
  const { record, revision } = await jobs.create(passOn(running, now, { carried: { key: 'k', sizeBytes: 1 }, warnings: [] }));
  await moveOn({ jobs, queue }, { record, revision });
  await check();
  now += UNSERVED_MS;
  await check();
  expect((await jobs.get(record.id))?.record).toMatchObject({ pool: 'image-b', moved: { from: 'image', to: 'image-b' } });
  expect([await queue.has('image', record.id), await queue.has('image-b', record.id)]).toEqual([false, true]);
});

describe('a job that runs in a pool whose workers have been silent for long', () => {
  const record = async (id: string) => (await jobs.get(id))?.record;
  /** The worker said nothing after its claim. */
  const claimed = async (): Promise<string> => {
    const id = await add({ state: 'running', attempt: 'dead', attempts: 1, startedAt: START });
    expect(await queue.pull('image', ['interactive'], 0)).toBeDefined();
    return id;
  };

  it('begins again in another pool, and its claim counts', async () => {
    const check = checksOf(aPool('image', { workers: 0 }), aPool('image-b'));
    const id = await claimed();
    await check();
    now += DESERTED_MS - 1;
    await check();
    expect(await record(id)).toMatchObject({ state: 'running', pool: 'image' });
    now += 1;
    await check();
    expect(await record(id)).toMatchObject({ state: 'queued', pool: 'image-b', attempts: 1 });
    expect([await queue.has('image', id), await queue.has('image-b', id)]).toEqual([false, true]);
  });

  it('waits again where no other pool can take it', async () => {
    const check = checksOf(aPool('image', { workers: 0 }), aPool('pdf', { toolchain: 'pdf' }));
    const id = await claimed();
    await check();
    now += DESERTED_MS;
    await check();
    expect(await record(id)).toMatchObject({ state: 'queued', pool: 'image', attempts: 1 });
    expect(await queue.has('image', id)).toBe(true);
  });

  it('stays where it is while a worker is heard that takes no orders', async () => {
    const check = checksOf(aPool('image', { workers: 0, isHeard: true }), aPool('image-b'));
    const id = await claimed();
    for (let times = 0; times < 3; times++) {
      await check();
      now += DESERTED_MS;
    }
    expect(await record(id)).toMatchObject({ state: 'running', pool: 'image', attempt: 'dead' });
  });

  it('stays where it is when it was claimed in that time', async () => {
    const check = checksOf(aPool('image', { workers: 0 }), aPool('image-b'));
    const id = await add({});
    await check();
    now += 1;
    const stored = await jobs.get(id);
    if (stored !== undefined) await jobs.update(claim(stored.record, 'alive', now) ?? stored.record, stored.revision);
    now += DESERTED_MS - 1;
    await check();
    expect(await record(id)).toMatchObject({ state: 'running', pool: 'image', attempt: 'alive' });
  });
});
