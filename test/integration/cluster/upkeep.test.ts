/** Upkeep over real NATS and S3 servers: by several at once, over records that were lost, and of what the object store itself left half done. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ensureBatches } from '../../../src/jobs/nats/batches.ts';
import { ensureIdempotency } from '../../../src/jobs/nats/idempotency.ts';
import { ensureJobs, openNatsJobs } from '../../../src/jobs/nats/jobs.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { inputKey, outputKey } from '../../../src/objects/keys.ts';
import { openS3, type S3Store } from '../../../src/objects/s3/store.ts';
import { ensurePool } from '../../../src/queue/nats/pool.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import { LOST_AFTER_MS } from '../../../src/upkeep/decide.ts';
import { startUpkeep } from '../../../src/upkeep/upkeep.ts';
import { partKey } from '../../../src/uploads/keys.ts';
import { ensureUploads } from '../../../src/uploads/nats.ts';
import { aRecord, HOUR, signalled, someId, streamOf } from '../../conformance/samples.ts';
import { eventually } from '../../kit/api/wire.ts';
import { emptyNats, type Servers, startNats } from '../../kit/nats/nats.ts';
import { type Minio, startMinio } from '../../kit/objects/minio.ts';
import { openStores, type Stores } from '../../kit/roles/stores.ts';

const MIB = 1 << 20;

let servers: Servers;
let minio: Minio;
let nats: Nats;
let objects: S3Store;
let stores: Stores;
beforeAll(async () => {
  [servers, minio] = await Promise.all([startNats(), startMinio()]);
  nats = await servers.connect();
  for (const ensure of [ensureJobs, ensureBatches, ensureIdempotency, ensureUploads]) await ensure(nats, 1);
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1 });
});
afterAll(() => Promise.all([servers?.stop(), minio?.stop()]));
beforeEach(async () => {
  await emptyNats(nats);
  const bucket = minio.settings();
  objects = await openS3(bucket);
  stores = await openStores({ nats: servers, bucket });
});

const put = (key: string) => objects.put(key, streamOf(Buffer.from('abc')), 10);
const create = async () => {
  const now = Date.now();
  const { record } = await stores.upkept.jobs.create(aRecord({ id: someId(), createdAt: now, expiresAt: now + 2 * HOUR }));
  await put(inputKey(record.id));
  return record;
};

it('deletes nothing when the records of jobs and uploads are gone, and says so of both', async () => {
  for (let n = 0; n < 25; n++) {
    const { id } = await create();
    await put(outputKey(id, 'a'));
    await put(partKey(`upl_${someId()}`, 'p'));
  }
  await emptyNats(nats);
  expect(await stores.sweep(48 * HOUR)).toMatchObject({ orphaned: 0, uploads: 0 });
  expect(await stores.keys()).toHaveLength(75);
  expect(stores.warnings).toHaveLength(2);
  for (const warning of stores.warnings) expect(warning).toMatch(/were the records lost or restored\? None of these objects is deleted/);
});

it('is done by one of several replicas that begin at once, and by another when that one has gone', async () => {
  const records = await Promise.all(Array.from({ length: 10 }, create));
  let published = 0;
  const replica = async () => {
    const own = await servers.connect();
    const queue = openNatsQueue(own);
    const publish: typeof queue.publish = (order) => {
      published++;
      return queue.publish(order);
    };
    const clock = () => Date.now() + 2 * LOST_AFTER_MS;
    return startUpkeep({ ...stores.upkept, jobs: openNatsJobs(own), queue: { ...queue, publish }, clock, intervalMs: 10 });
  };
  const replicas = await Promise.all([replica(), replica(), replica()]);
  const allOrdered = async () => (await stores.upkept.queue.depth('image')).waiting === records.length;
  await eventually(allOrdered, 'all jobs have an order');
  // Each as often as if there were one: some runs later still.
  const leases = async () => (await nats.manager.streams.info('KV_locks')).state.last_seq;
  const before = await leases();
  await eventually(async () => (await leases()) > before + 10, 'upkeep runs again and again');
  expect(published).toBe(records.length);
  await replicas[0]?.stop();
  const late = await create();
  await eventually(() => stores.upkept.queue.has('image', late.id), 'the others go on');
  await Promise.all(replicas.map((one) => one.stop()));
  expect(stores.warnings).toEqual([]);
});

it('does no harm where two run at once all the same, as after an outage that cost one its lease', async () => {
  const now = Date.now();
  const lost = await Promise.all(Array.from({ length: 10 }, create));
  const done = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const id = someId();
      const key = outputKey(id, 'won');
      for (const each of [inputKey(id), outputKey(id, 'lost'), key]) await put(each);
      const output = { key, filename: 'f.jpg', sizeBytes: 3, contentType: 'image/jpeg', sha256: '', files: 1 };
      await stores.upkept.jobs.create(
        aRecord({ id, state: 'done', attempt: 'won', attempts: 1, createdAt: now, endedAt: now, expiresAt: now + 2 * HOUR, output }),
      );
      return key;
    }),
  );
  const other = { jobs: openNatsJobs(await servers.connect()) };
  const tallies = await Promise.all([stores.sweep(2 * LOST_AFTER_MS), stores.sweep(2 * LOST_AFTER_MS, other)]);
  expect(tallies.map(({ troubles }) => troubles)).toEqual([0, 0]);
  expect(tallies[0].publish + tallies[1].publish).toBe(lost.length);
  expect((await stores.upkept.queue.depth('image')).waiting).toBe(lost.length);
  expect((await stores.keys()).toSorted()).toEqual([...lost.map(({ id }) => inputKey(id)), ...done].toSorted());
  // What waits fails, loses its files, and is remembered for a day.
  for (const hours of [27, 28, 54]) await Promise.all([stores.sweep(hours * HOUR), stores.sweep(hours * HOUR, other)]);
  await stores.expectNothingLeft();
});

it('ends uploads to the object store that were not finished within a day', async () => {
  const half = signalled();
  async function* neverEnding() {
    for (let sent = 0; sent < 11; sent++) yield Buffer.alloc(MIB, sent);
    half.resolve();
    await new Promise(() => {});
  }
  void objects.put(inputKey(someId()), Readable.from(neverEnding(), { objectMode: false }), 100 * MIB).catch(() => {});
  await half.promise;
  await eventually(async () => (await minio.unfinished()).length > 0, 'parts are there');
  const upkeepAt = async (laterMs: number) => {
    const asked = Promise.withResolvers<number>();
    const abandonUploads = async (before: number) => {
      const count = await objects.abandonUploads(before);
      asked.resolve(count);
      return count;
    };
    const upkeep = startUpkeep({ ...stores.upkept, abandonUploads, clock: () => Date.now() + laterMs, intervalMs: HOUR });
    const count = await asked.promise;
    await upkeep.stop();
    return count;
  };
  expect(await upkeepAt(23 * HOUR)).toBe(0);
  expect(await minio.unfinished()).not.toEqual([]);
  expect(await upkeepAt(25 * HOUR)).toBe(1);
  expect(await minio.unfinished()).toEqual([]);
});
