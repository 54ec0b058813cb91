/** How streams, buckets and consumers come to be, and what is special about what JetStream keeps. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Order } from '../../src/contracts/messages/order.ts';
import { ensureBatches, openNatsBatches } from '../../src/jobs/nats/batches.ts';
import { ensureJobs, openNatsJobs } from '../../src/jobs/nats/jobs.ts';
import type { Stored } from '../../src/jobs/store.ts';
import { Unreadable } from '../../src/jobs/text.ts';
import { ensureLimits, openNatsLimits } from '../../src/limits/nats.ts';
import { NEW_CLIENT } from '../../src/limits/record.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { ensureStream, Mismatch } from '../../src/nats/ensure.ts';
import { allBands } from '../../src/queue/nats/bands.ts';
import { ensurePool } from '../../src/queue/nats/pool.ts';
import { type Known, openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Delivery } from '../../src/queue/queue.ts';
import { emptyNats, type Servers, startNats } from '../kit/nats/nats.ts';
import { anOrder, aRecord, collect, HOUR, jobId, START } from './samples.ts';

const lanes = ['interactive', 'bulk'] as const;

let servers: Servers;
let nats: Nats;
let other: Nats;
beforeAll(async () => {
  servers = await startNats();
  nats = await servers.connect();
  other = await servers.connect();
});
afterAll(() => servers.stop());
beforeEach(() => emptyNats(nats));

const aPool = { capacity: 100, replicas: 1 };

describe('what is ensured', () => {
  it('is made once, by however many at once, and left alone when it is right', async () => {
    await Promise.all([nats, other, nats, other].map((each) => ensurePool(each, 'made', aPool)));
    const before = await nats.manager.streams.info('convert-made');
    await openNatsQueue(nats).publish(anOrder({ pool: 'made' }));
    await ensurePool(other, 'made', aPool);
    expect((await nats.manager.streams.info('convert-made')).created).toBe(before.created);
    expect(await openNatsQueue(nats).depth('made')).toMatchObject({ waiting: 1 });
  });

  it('is changed where that is possible, with what lies in it', async () => {
    await ensurePool(nats, 'grows', { capacity: 1, replicas: 1 });
    const queue = openNatsQueue(nats);
    expect(await queue.publish(anOrder({ pool: 'grows' }))).toBe('accepted');
    expect(await queue.publish(anOrder({ pool: 'grows' }))).toBe('full');
    await ensurePool(nats, 'grows', { capacity: 2, replicas: 1, unheardMs: 10_000 });
    expect(await queue.publish(anOrder({ pool: 'grows' }))).toBe('accepted');
    const { config } = await nats.manager.consumers.info('convert-grows', 'bulk');
    expect(config).toMatchObject({ ack_wait: 10_000_000_000, max_ack_pending: 2, max_deliver: -1, filter_subject: 'convert.grows.bulk.*' });
  });

  it('is refused by field, found and wanted where it cannot be changed, and stays as it is', async () => {
    await nats.manager.streams.add({ name: 'convert-strange', subjects: ['convert.strange.*.*'], retention: 'limits', storage: 'memory' });
    const error = await ensurePool(nats, 'strange', aPool).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Mismatch);
    expect(String(error)).toMatch(/stream convert-strange.*retention "limits" instead of "workqueue".*storage "memory" instead of "file"/);
    expect((await nats.manager.streams.info('convert-strange')).config).toMatchObject({ retention: 'limits', storage: 'memory' });
  });

  it('is refused when its subjects belong to another stream', async () => {
    await ensureStream(nats, { name: 'squatter', subjects: ['convert.taken.>'] });
    await expect(ensurePool(nats, 'taken', aPool)).rejects.toThrow(/stream convert-taken cannot be created: subjects overlap/);
  });

  it('is not changed back where a newer filemill made it', async () => {
    await nats.manager.streams.add({ name: 'convert-newer', subjects: ['convert.newer.*.*'], metadata: { 'filemill-layout': '2' } });
    await expect(ensurePool(nats, 'newer', aPool)).rejects.toThrow(/newer filemill \(layout 2, this one knows 1\): upgrade/);
  });

  it('takes no name that would reach into others', async () => {
    for (const pool of ['*', '>', 'a.b', 'a b', '', 'ä']) await expect(ensurePool(nats, pool, aPool)).rejects.toThrow(RangeError);
  });
});

describe('jobs in JetStream', () => {
  beforeEach(() => ensureJobs(nats, 1));

  const damage: Record<string, [string, RegExp]> = {
    'of a newer version': [JSON.stringify({ ...aRecord(), version: 2, more: true }), /version 2.*upgrade/],
    'that is not JSON': ['{"version":1', /not JSON/],
  };
  for (const [which, [text, message]] of Object.entries(damage)) {
    it(`names a record ${which} when it is read, and scans past it`, async () => {
      const reported: Error[] = [];
      const jobs = openNatsJobs(nats, { report: (found) => reported.push(found) });
      for (const n of [1, 2, 3]) await jobs.create(aRecord({ id: jobId(n) }));
      await nats.client.publish(`$KV.jobs.${aRecord().pool}.${jobId(2)}`, text);
      await expect(jobs.get(jobId(2))).rejects.toThrow(message);
      expect((await collect(jobs.scan())).map(({ record }) => record.id).toSorted()).toEqual([jobId(1), jobId(3)]);
      expect(reported).toEqual([expect.any(Unreadable)]);
    });
  }

  it('finds what is due among records that were never entered, as those of an older filemill, and enters them', async () => {
    const done = { state: 'done', endedAt: START, expiresAt: START + 2 * HOUR } as const;
    const records = [aRecord(), ...Array.from({ length: 20 }, () => aRecord(done)), aRecord({ ...done, expiresAt: START - 30 * HOUR })];
    for (const record of records) await nats.client.publish(`$KV.jobs.image.${record.id}`, JSON.stringify(record));
    const jobs = openNatsJobs(nats);
    const dueAt = async (now: number) => new Set((await collect(jobs.due(now))).map(({ id }) => id));
    expect(await dueAt(START)).toEqual(new Set(records.map(({ id }) => id)));
    for await (const due of jobs.due(START)) if (due.id !== records[0]?.id) await due.settle(START + 2 * HOUR);
    expect(await dueAt(START)).toEqual(new Set([records[0]?.id, records.at(-1)?.id]));
    // A process that died between entering a job and creating its record left an entry: it is found, and gone once it is settled.
    await nats.client.publish(`$KV.due.open.${START}.image.${jobId(9)}`, '');
    for await (const due of jobs.due(START)) if (due.id === jobId(9)) await due.settle();
    expect(await dueAt(START)).not.toContain(jobId(9));
    // Entries that were lost, as in a store that was restored in part, are made again.
    await nats.manager.streams.purge('KV_due');
    expect(await dueAt(START)).toContain(records[0]?.id);
    expect(await collect(openNatsJobs(nats).due(START))).not.toEqual([]);
  });

  it('knows no job by a pattern, and writes none under one', async () => {
    const jobs = openNatsJobs(nats);
    await jobs.create(aRecord({ id: jobId(1) }));
    for (const id of ['*', '>', `*.${jobId(1)}`, '', 'a b', 'x'.repeat(200)]) {
      expect(await jobs.get(id), id).toBeUndefined();
      await expect(jobs.create(aRecord({ id })), id).rejects.toThrow(RangeError);
      await expect(jobs.remove(id, 1), id).rejects.toThrow(RangeError);
    }
  });

  it('hints at nothing that was refused', async () => {
    const [mine, theirs] = [openNatsJobs(nats), openNatsJobs(other)];
    const { record, revision } = await mine.create(aRecord());
    const stored = await mine.update({ ...record, attempts: 1 }, revision);
    let hints = 0;
    theirs.watch(record.id, () => hints++);
    for (let n = 0; n < 5; n++) await expect(mine.update({ ...record, attempts: 9 }, revision)).rejects.toThrow();
    await mine.update({ ...record, attempts: 2 }, stored.revision);
    await vi.waitFor(() => expect(hints).toBe(1));
  });

  it('is shown by no replica but the leader', async () => {
    expect((await nats.manager.streams.info('KV_jobs')).config).toMatchObject({ allow_direct: false, mirror_direct: false });
  });

  it('that has no room says so in time, as what clients read as OVERLOADED, and changes nothing', async () => {
    const jobs = openNatsJobs(nats);
    const first = await jobs.create(aRecord());
    await nats.manager.streams.update('KV_jobs', { max_bytes: 1_500 });
    const large = { ...first.record, options: { text: 'x'.repeat(2_000) } };
    await expect(jobs.create(aRecord({ options: large.options }))).rejects.toMatchObject({ code: 'OVERLOADED' });
    await expect(jobs.update(large, first.revision)).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(await jobs.get(first.record.id)).toEqual(first);
    await nats.manager.streams.update('KV_jobs', { max_bytes: -1 });
    await jobs.update(large, first.revision);
  });

  it('scans what many updates have left far apart, and nothing that was removed', async () => {
    const jobs = openNatsJobs(nats);
    const kept = await Promise.all(Array.from({ length: 40 }, () => jobs.create(aRecord())));
    let moving = await jobs.create(aRecord());
    for (let attempts = 1; attempts <= 200; attempts++) moving = await jobs.update({ ...moving.record, attempts }, moving.revision);
    for (const { record, revision } of kept.splice(10)) await jobs.remove(record.id, revision);
    const found = await collect(jobs.scan());
    const byId = (a: Stored, b: Stored) => a.record.id.localeCompare(b.record.id);
    expect(found.toSorted(byId)).toEqual([...kept, moving].toSorted(byId));
  });

  it('keeps a lock whose holder renews it', async () => {
    const [mine, theirs] = [openNatsJobs(nats), openNatsJobs(other)];
    const ran = await mine.withLock('upkeep', 300, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect(await theirs.withLock('upkeep', 300, async () => {})).toBe(false);
    });
    expect(ran).toBe(true);
    expect(await theirs.withLock('upkeep', 300, async () => {})).toBe(true);
  });
});

describe('batches and clients in JetStream', () => {
  it('know none by a pattern', async () => {
    await ensureBatches(nats, 1);
    await ensureLimits(nats, 1);
    const [batches, limits] = [openNatsBatches(nats), openNatsLimits(nats, Date.now)];
    await batches.create({ version: 1, id: 'bat_0000000000000001', createdAt: 1, jobs: [jobId(1)] });
    await limits.put('c', NEW_CLIENT, undefined, Date.now() + 60_000);
    for (const name of ['*', '>']) expect([await batches.get(name), await limits.get(name)]).toEqual([undefined, undefined]);
  });

  it('forget a client when nothing of it matters any more, by its latest record', async () => {
    await ensureLimits(nats, 1);
    const limits = openNatsLimits(nats, Date.now);
    for (const client of ['short', 'longer']) await limits.put(client, NEW_CLIENT, undefined, Date.now() + 500);
    const short = await limits.get('short');
    await limits.put('longer', NEW_CLIENT, (await limits.get('longer'))?.revision, Date.now() + 60_000);
    await vi.waitFor(async () => expect(await limits.get('short')).toBeUndefined(), { timeout: 20_000, interval: 100 });
    expect(await limits.get('longer')).toBeDefined();
    await expect(limits.put('short', NEW_CLIENT, short?.revision, Date.now() + 60_000)).rejects.toThrow();
    await limits.put('short', NEW_CLIENT, undefined, Date.now() + 60_000);
  });

  it('start again with a client whose record cannot be read, and can be written again', async () => {
    await ensureLimits(nats, 1);
    const told: Error[] = [];
    const limits = openNatsLimits(nats, Date.now, (found) => told.push(found));
    await nats.client.publish('$KV.clients.c', '{');
    const found = await limits.get('c');
    expect(found?.record).toEqual(NEW_CLIENT);
    expect(told).toHaveLength(1);
    await limits.put('c', NEW_CLIENT, found?.revision, Date.now() + 60_000);
  });
});

describe('the queue in JetStream', () => {
  beforeEach(() => ensurePool(nats, 'image', { capacity: 500, replicas: 1 }));

  it('hands on an order past a damaged one', async () => {
    await nats.client.publish(`convert.image.bulk.${jobId(1)}`, '{');
    const queue = openNatsQueue(nats);
    await queue.publish(anOrder({ lane: 'bulk', jobId: jobId(2) }));
    expect((await queue.pull('image', ['bulk'], 0))?.order.jobId).toBe(jobId(2));
    expect(await queue.has('image', jobId(1))).toBe(true);
  });

  it('goes on with what an older filemill published, and beside older workers', async () => {
    const older = [anOrder({ jobId: jobId(1) }), anOrder({ jobId: jobId(2) })];
    for (const order of older) await nats.client.publish(`convert.image.interactive.${order.jobId}`, JSON.stringify(order));
    const queue = openNatsQueue(nats, { random: () => 0.999 });
    expect(await queue.publish(older[0] as Order)).toBe('duplicate');
    const orders = Array.from({ length: 10 }, () => anOrder());
    for (const order of orders) expect(await queue.publish(order, { client: 'client' })).toBe('accepted');
    // All that older workers and replicas ask by.
    const { state } = await nats.manager.streams.info('convert-image', { subjects_filter: 'convert.image.*.*' });
    expect(Object.keys(state.subjects ?? {})).toHaveLength(12);
    expect((await nats.manager.consumers.info('convert-image', 'interactive')).num_pending).toBe(3);
    expect(await queue.depth('image')).toMatchObject({ waiting: 12, held: 0 });
    const pulled = [];
    for (let n = 0; n < 12; n++) pulled.push((await queue.pull('image', lanes, 600_000))?.order.jobId);
    expect(pulled).toEqual([...older, ...orders].map((order) => order.jobId));
  });

  it('publishes as an older filemill does while some workers of the pool know no bands', async () => {
    let known: Known = 'lanes';
    const queue = openNatsQueue(nats, { knows: () => known });
    const pending = async () =>
      Promise.all(
        ['interactive', 'interactive-1'].map(async (band) => (await nats.manager.consumers.info('convert-image', band)).num_pending),
      );
    for (let n = 0; n < 3; n++) await queue.publish(anOrder(), { client: 'client' });
    await expect.poll(pending).toEqual([3, 0]);
    known = 'sizes';
    await queue.publish(anOrder(), { client: 'client' });
    await expect.poll(pending).toEqual([3, 1]);
  });

  it('works in a pool that an older filemill made, which has the first bands alone', async () => {
    for (const band of allBands) if (!lanes.some((lane) => lane === band)) await nats.manager.consumers.delete('convert-image', band);
    const queue = openNatsQueue(nats);
    expect(await queue.pull('image', lanes, 50)).toBeUndefined();
    const pulled = queue.pull('image', lanes, 600_000);
    const [first, second] = [anOrder(), anOrder({ lane: 'bulk' })];
    await queue.publish(first);
    expect((await pulled)?.order).toEqual(first);
    await queue.publish(second);
    expect((await queue.pull('image', lanes, 600_000))?.order).toEqual(second);
    expect(await queue.depth('image')).toMatchObject({ waiting: 0, held: 2 });
    // Brought to its present shape, with what has come meanwhile.
    const [waiting, later] = [anOrder(), anOrder()];
    for (const order of [waiting, later]) await queue.publish(order, { client: 'client' });
    await ensurePool(nats, 'image', { capacity: 500, replicas: 1 });
    expect((await queue.pull('image', lanes, 600_000))?.order).toEqual(waiting);
    expect((await queue.pull('image', lanes, 600_000))?.order).toEqual(later);
  });

  it('also serves a client with a backlog, while new clients come with one order each', async () => {
    const queue = openNatsQueue(nats, { random: () => 0 });
    const many = Array.from({ length: 10 }, () => anOrder());
    for (const order of many) await queue.publish(order, { client: 'many' });
    const left = new Set(many.map((order) => order.jobId));
    for (let n = 0; left.size > 0 && n < 5_000; n++) {
      await queue.publish(anOrder(), { client: `single ${n}` });
      const delivery = await queue.pull('image', lanes, 600_000);
      left.delete(delivery?.order.jobId ?? '');
      await delivery?.done();
    }
    expect(left.size).toBe(0);
  });

  it('that is closed ends the pulls that wait', async () => {
    const queue = openNatsQueue(nats);
    const pulled = queue.pull('image', lanes, 600_000);
    await queue.close();
    expect(await pulled).toBeUndefined();
  });

  it('wakes a puller of both lanes by an order in either', async () => {
    const queue = openNatsQueue(nats);
    for (const lane of lanes) {
      const pulled = queue.pull('image', lanes, 600_000);
      await vi.waitFor(async () => expect((await nats.manager.consumers.info('convert-image', lane)).num_waiting).toBe(1));
      const order = anOrder({ lane });
      await queue.publish(order);
      expect((await pulled)?.order).toEqual(order);
    }
  });

  it('loses no order to pulls that were aborted while it was on its way', async () => {
    // Whatever lies until the ack wait is over would not come in time for this test.
    await ensurePool(nats, 'patient', { capacity: 500, replicas: 1, unheardMs: 3600_000 });
    const queues = [openNatsQueue(nats), openNatsQueue(other)] as const;
    const orders = Array.from({ length: 200 }, (_, n) => anOrder({ pool: 'patient', lane: n % 2 === 0 ? 'interactive' : 'bulk' }));
    const taken: string[] = [];
    const finish = async (delivery: Delivery | undefined) => {
      if (delivery === undefined) return;
      taken.push(delivery.order.jobId);
      await delivery.done();
    };
    for (const [n, order] of orders.entries()) {
      const stop = new AbortController();
      const pulls = [0, 1, 2].map((m) => queues[(n + m) % 2 === 0 ? 0 : 1].pull('patient', lanes, 600_000, stop.signal));
      const published = queues[0].publish(order);
      if (n % 3 === 0) await published;
      stop.abort();
      for (const pull of pulls) await finish(await pull);
      await published;
    }
    while (taken.length < orders.length) await finish(await queues[1].pull('patient', lanes, 600_000));
    expect(taken.toSorted()).toEqual(orders.map((order) => order.jobId).toSorted());
    await Promise.all(queues.map((queue) => queue.close()));
    expect(await queues[0].depth('patient')).toEqual({ waiting: 0, held: 0, oldestMs: undefined });
  });
});
