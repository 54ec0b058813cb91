/** What JetStream's backends do when servers die under them: wait, say so in time, and never lose or double what was answered. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { TimeoutError } from 'nats';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Order } from '../../src/contracts/messages/order.ts';
import { RevisionConflict } from '../../src/errors.ts';
import { ensureJobs, openNatsJobs } from '../../src/jobs/nats/jobs.ts';
import type { JobStore } from '../../src/jobs/store.ts';
import { ensureLimits, openNatsLimits } from '../../src/limits/nats.ts';
import { NEW_CLIENT } from '../../src/limits/record.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { Unavailable } from '../../src/nats/unavailable.ts';
import { ensurePool } from '../../src/queue/nats/pool.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';
import { anOrder, aRecord, jobId, signalled } from './samples.ts';

const lanes = ['interactive', 'bulk'] as const;
const LONG = 600_000;

let servers: Servers;
let nats: Nats;
let jobs: JobStore;
let queue: Queue;

async function open(count: 1 | 3): Promise<void> {
  servers = await startNats(count);
  nats = await servers.connect();
  await ensureJobs(nats, count);
  await ensureLimits(nats, count);
  await ensurePool(nats, 'image', { capacity: 100, replicas: count });
  jobs = openNatsJobs(nats);
  queue = openNatsQueue(nats);
}
const disconnected = () => vi.waitFor(() => expect(nats.isConnected()).toBe(false));
const overloaded = { code: 'OVERLOADED', status: 503, retryable: true };

describe('one server that dies', () => {
  beforeEach(() => open(1));
  afterEach(() => servers.stop());

  it('and starts again has all that it answered: records, locks, orders waiting and held', async () => {
    const first = await jobs.create(aRecord());
    const second = await jobs.update({ ...first.record, attempts: 1 }, first.revision);
    const [held, waiting] = [anOrder(), anOrder()];
    await queue.publish(held);
    const delivery = await queue.pull('image', lanes, LONG);
    await queue.publish(waiting);
    const [locked, letGo] = [signalled(), signalled()];
    const ran = jobs.withLock('upkeep', 60_000, async () => {
      locked.resolve();
      await letGo.promise;
    });
    await locked.promise;

    await servers.kill();
    await servers.restart();
    expect(await jobs.get(first.record.id)).toEqual(second);
    expect(await jobs.withLock('upkeep', 60_000, async () => {})).toBe(false);
    expect(await queue.publish(held)).toBe('duplicate');
    expect(await delivery?.extend()).toBe('held');
    expect((await queue.pull('image', lanes, LONG))?.order).toEqual(waiting);
    await delivery?.done();
    expect(await queue.has('image', held.jobId)).toBe(false);
    letGo.resolve();
    expect(await ran).toBe(true);
    expect(await jobs.withLock('upkeep', 60_000, async () => {})).toBe(true);
  });

  it('for a moment is waited for by every call made meanwhile', async () => {
    const { record, revision } = await jobs.create(aRecord());
    await servers.kill();
    await disconnected();
    const answers = Promise.all([
      jobs.get(record.id),
      jobs.update({ ...record, attempts: 1 }, revision),
      queue.publish(anOrder()),
      queue.pull('image', lanes, LONG),
    ]);
    await servers.restart();
    const [, , published, pulled] = await answers;
    expect(published).toBe('accepted');
    expect(pulled?.order.pool).toBe('image');
    expect((await jobs.get(record.id))?.record.attempts).toBe(1);
  });

  it('for longer makes every call fail in time, with what clients read as OVERLOADED, and none is carried out later', async () => {
    const limits = openNatsLimits(nats, Date.now);
    const { record, revision } = await jobs.create(aRecord());
    const [order, late] = [anOrder(), anOrder()];
    await queue.publish(order);
    const delivery = await queue.pull('image', lanes, LONG);
    const waiting = queue.pull('image', lanes, LONG);
    await servers.kill();
    await disconnected();
    const calls: Record<string, Promise<unknown>> = {
      create: jobs.create(aRecord({ id: jobId(1) })),
      get: jobs.get(record.id),
      update: jobs.update({ ...record, attempts: 9 }, revision),
      remove: jobs.remove(record.id, revision),
      scan: jobs.scan()[Symbol.asyncIterator]().next(),
      lock: jobs.withLock('upkeep', 60_000, async () => {}),
      publish: queue.publish(late),
      pull: queue.pull('image', lanes, LONG),
      'a pull that waited': waiting,
      'remove an order': queue.remove('image', order.jobId),
      has: queue.has('image', order.jobId),
      depth: queue.depth('image'),
      extend: delivery?.extend() ?? Promise.resolve(),
      'get a client': limits.get('c'),
      'put a client': limits.put('c', NEW_CLIENT, undefined, Date.now() + 60_000),
      connect: servers.connect(),
    };
    const outcomes = await Promise.all(
      Object.entries(calls).map(
        async ([name, call]) =>
          [
            name,
            await call.then(
              () => 'answered',
              (error: unknown) => error,
            ),
          ] as const,
      ),
    );
    for (const [name, outcome] of outcomes) {
      expect(outcome, name).toBeInstanceOf(Unavailable);
      expect(outcome, name).toMatchObject(overloaded);
    }
    await servers.restart();
    expect(await jobs.get(jobId(1))).toBeUndefined();
    expect(await jobs.get(record.id)).toEqual({ record, revision });
    expect(await queue.has('image', order.jobId)).toBe(true);
    expect(await queue.has('image', late.jobId)).toBe(false);
    expect(await limits.get('c')).toBeUndefined();
  });

  it('wakes all watchers once it is there again: they may have missed something', async () => {
    const other = await servers.connect();
    const elsewhere = openNatsJobs(other);
    const { record, revision } = await jobs.create(aRecord());
    await servers.kill();
    await disconnected();
    const [woken, stranger] = [signalled(), signalled()];
    jobs.watch(record.id, woken.resolve);
    jobs.watch(jobId(9), stranger.resolve);
    await servers.restart();
    await Promise.all([woken.promise, stranger.promise]);
    const changed = signalled();
    jobs.watch(record.id, changed.resolve);
    // As a process that is woken does: the answer on this connection comes after its subscription, which no other connection waits for.
    await jobs.get(record.id);
    await elsewhere.update({ ...record, state: 'done' }, revision);
    await changed.promise;
  });
});

describe('an answer that is lost', () => {
  beforeEach(() => open(1));
  afterEach(() => servers.stop());

  /** The first answer to each write is lost, though the write was stored. */
  const forgetful = (): Nats => {
    const heard = new Set<string | undefined>();
    const publish: Nats['client']['publish'] = async (subject, payload, options) => {
      const answer = await nats.client.publish(subject, payload, options);
      if (heard.has(options?.msgID)) return answer;
      heard.add(options?.msgID);
      throw new TimeoutError();
    };
    return { ...nats, client: Object.assign(Object.create(nats.client) as Nats['client'], { publish }) };
  };

  it('makes no conflict of a write with itself, and no second of it', async () => {
    const store = openNatsJobs(forgetful());
    const created = await store.create(aRecord());
    expect(await jobs.get(created.record.id)).toEqual(created);
    const updated = await store.update({ ...created.record, attempts: 1 }, created.revision);
    expect(await jobs.get(created.record.id)).toEqual(updated);
    expect(updated.revision).toBe(created.revision + 1);
    await store.remove(created.record.id, updated.revision);
    expect(await jobs.get(created.record.id)).toBeUndefined();
  });

  it('leaves one order, which is accepted', async () => {
    const order = anOrder();
    expect(await openNatsQueue(forgetful()).publish(order)).toBe('accepted');
    expect(await queue.publish(order)).toBe('duplicate');
    expect(await queue.depth('image')).toMatchObject({ waiting: 1, held: 0 });
  });
});

describe('a worker that is frozen', () => {
  beforeEach(() => open(1));
  afterEach(() => servers.stop());

  it('while an order is on its way to it loses it to another, and does no harm when it wakes', async () => {
    const ackWaitMs = 1_000;
    await ensurePool(nats, 'image', { capacity: 100, replicas: 1 });
    const patient = openNatsQueue(nats, { ackWaitMs });
    const src = new URL('../../src/', import.meta.url).href;
    const text = `
      import { connectNats } from '${src}nats/connection.ts';
      import { openNatsQueue } from '${src}queue/nats/queue.ts';
      const nats = await connectNats({ servers: ${JSON.stringify(servers.addresses)}, name: 'frozen' });
      const delivery = await openNatsQueue(nats, { ackWaitMs: ${ackWaitMs} }).pull('image', ['interactive'], 600_000);
      const extended = await delivery.extend();
      await delivery.release(0);
      await delivery.done();
      console.log(extended);
      await nats.close();
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const consumer = () => nats.manager.consumers.info('convert-image', 'interactive');
      await vi.waitFor(async () => expect((await consumer()).num_waiting).toBe(1), 20_000);
      child.kill('SIGSTOP');
      const order = anOrder();
      await patient.publish(order);
      await vi.waitFor(async () => expect((await consumer()).num_ack_pending).toBe(1), 20_000);
      // Asked without waiting: from a request that waited, the hold would be counted from its beginning.
      const heir = await vi.waitFor(async () => {
        const delivery = await patient.pull('image', lanes, 0);
        expect(delivery).toMatchObject({ order, redelivered: true });
        return delivery;
      }, 20_000);
      const keeping = setInterval(() => void heir?.extend(), ackWaitMs / 4);
      child.kill('SIGCONT');
      const [said] = await once(child.stdout, 'data');
      clearInterval(keeping);
      expect(String(said).trim()).toBe('gone');
      expect(await heir?.extend()).toBe('held');
      expect(await patient.depth('image')).toMatchObject({ waiting: 0, held: 1 });
      await heir?.done();
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('three servers of which one dies after the other', () => {
  beforeEach(() => open(3));
  afterEach(() => servers.stop());

  it('lose and double no update, and no order', { timeout: 240_000 }, async () => {
    const { record } = await jobs.create(aRecord());
    let dying = true;
    let written = 0;
    /** Adds one. Only reading tells whether a write without an answer was stored: nothing else may conflict. */
    const addOne = async (unsure = false): Promise<void> => {
      try {
        const now = await jobs.get(record.id);
        expect([written, ...(unsure ? [written + 1] : [])]).toContain(now?.record.attempts);
        if (now?.record.attempts === written) await jobs.update({ ...record, attempts: written + 1 }, now.revision);
        written++;
      } catch (error) {
        if (!(error instanceof Unavailable) && !(unsure && error instanceof RevisionConflict)) throw error;
        await addOne(true);
      }
    };
    const published: string[] = [];
    const publish = async (order: Order): Promise<void> => {
      const answer = await queue.publish(order).catch((error: unknown) => error);
      if (answer instanceof Unavailable) return publish(order);
      expect(['accepted', 'duplicate']).toContain(answer);
      published.push(order.jobId);
    };
    const work = async () => {
      while (dying) {
        await addOne();
        if (published.length < 90) await publish(anOrder());
      }
    };
    const die = async () => {
      try {
        for (const index of [0, 1, 2]) {
          await servers.kill(index);
          const before = written;
          await vi.waitFor(() => expect(written).toBeGreaterThan(before + 10), { timeout: 60_000, interval: 20 });
          await servers.restart();
        }
      } finally {
        dying = false;
      }
    };
    await Promise.all([work(), die()]);
    expect((await jobs.get(record.id))?.record.attempts).toBe(written);
    const pulled: string[] = [];
    while (pulled.length < published.length) {
      const delivery = await queue.pull('image', lanes, LONG);
      if (delivery === undefined) continue;
      pulled.push(delivery.order.jobId);
      await delivery.done();
    }
    expect(pulled.toSorted()).toEqual(published.toSorted());
    expect(await queue.pull('image', lanes, 0)).toBeUndefined();
  });

  it('refuse in time while only one is left, and go on as they were', async () => {
    const first = await jobs.create(aRecord());
    const order = anOrder();
    await queue.publish(order);
    await servers.kill(0);
    await servers.kill(1);
    await Promise.all([
      expect(jobs.update({ ...first.record, attempts: 1 }, first.revision)).rejects.toMatchObject(overloaded),
      expect(queue.publish(anOrder())).rejects.toMatchObject(overloaded),
    ]);
    await servers.restart();
    // What was refused is not known to be stored, and may still come: a conflict says so, and reading again shows it.
    await vi.waitFor(async () => {
      const now = await jobs.get(first.record.id);
      expect([0, 1]).toContain(now?.record.attempts);
      await jobs.update({ ...first.record, attempts: 2 }, now?.revision ?? 0);
    }, 20_000);
    expect((await jobs.get(first.record.id))?.record.attempts).toBe(2);
    expect(await queue.has('image', order.jobId)).toBe(true);
  });
});
