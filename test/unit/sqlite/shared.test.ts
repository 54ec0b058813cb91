/** What several stores write through one connection is durable together, when someone is to be told of it, and all of it or nothing. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newRecord } from '../../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import { openSqliteQueue } from '../../../src/queue/sqlite.ts';
import { SharedDatabase } from '../../../src/sqlite/shared.ts';

const NOW = 1_800_000_000_000;
const record = (id: string): JobRecord => ({
  ...newRecord(id, NOW),
  pool: 'image',
  lane: 'interactive',
  filename: 'a.png',
  sources: [{ part: 0, sizeBytes: 1, format: 'png' }],
  target: { format: 'jpg', extension: 'jpg' },
  options: {},
  warnings: [],
});
const order = (jobId: string) => ({ version: 1, jobId, pool: 'image', lane: 'interactive' }) as const;

let folder: string;
let shared: SharedDatabase;
let other: ReturnType<typeof openSqliteJobs>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'filemill-shared-'));
  const path = join(folder, 'f.db');
  other = openSqliteJobs(path, () => NOW);
  shared = new SharedDatabase(path);
});
afterEach(async () => {
  await other.close();
  shared.close();
  rmSync(folder, { recursive: true });
});
const stores = () => ({
  jobs: openSqliteJobs(shared, () => NOW),
  queue: openSqliteQueue(shared, () => NOW, { capacity: 1 }),
});

it('shows its own process a change at once, and others when it is committed, with all that came with it', async () => {
  const { jobs, queue } = stores();
  await jobs.create(record('a'));
  await queue.publish(order('a'));
  expect((await jobs.get('a'))?.record.id).toBe('a');
  expect(await other.get('a')).toBeUndefined();
  shared.commit();
  expect((await other.get('a'))?.record.id).toBe('a');
  expect(await queue.depth('image')).toMatchObject({ waiting: 1 });
});

it('commits by itself, where no client is told', async () => {
  await stores().jobs.create(record('a'));
  await expect.poll(() => other.get('a')).toBeDefined();
});

it('keeps what came before a change that is refused', async () => {
  const { jobs, queue } = stores();
  await jobs.create(record('a'));
  await expect(jobs.create(record('a'))).rejects.toThrow('exists already');
  expect([await queue.publish(order('a')), await queue.publish(order('b'))]).toEqual(['accepted', 'full']);
  shared.commit();
  expect(await other.get('a')).toBeDefined();
});

it('tells everyone who began before that changes were lost, where the disk is full', async () => {
  const { jobs } = stores();
  await jobs.create(record('durable'));
  shared.commit();
  const since = shared.losses;
  // As many pages as it has, and no more (https://sqlite.org/pragma.html#pragma_max_page_count).
  const table = shared.open('CREATE TABLE large (bytes); PRAGMA max_page_count = 1');
  await jobs.create(record('lost'));
  // One of the statements for which SQLite undoes the whole transaction.
  expect(() => table.prepare('INSERT INTO large VALUES (zeroblob(1000000))').run()).toThrow('full');
  expect(() => shared.commit(since)).toThrow('full');
  expect(() => shared.commit()).not.toThrow();
  expect([await jobs.get('lost'), (await jobs.get('durable'))?.record.id]).toEqual([undefined, 'durable']);
});
