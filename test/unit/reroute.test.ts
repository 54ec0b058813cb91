/** How orders leave a pool without workers, over the embedded stores. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { JobRecord } from '../../src/jobs/record.ts';
import { openJobs } from '../../src/jobs/sqlite/jobs.ts';
import type { JobStore } from '../../src/jobs/store.ts';
import type { Pool } from '../../src/pools/registry.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { openQueue } from '../../src/queue/sqlite.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { NOTHING_CHECKED, rerouteOnce } from '../../src/upkeep/reroute.ts';
import { UNSERVED_MS } from '../../src/upkeep/reroutes.ts';
import { anOrder, aPool, aRecord, jobId, START } from '../conformance/samples.ts';

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
  jobs = openJobs(join(folder, 'f.db'), clock);
  queue = openQueue(join(folder, 'f.db'), clock, { capacity: 2 * A_LOOK });
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
