/**
 * What counts against a job whose workers go: their deaths with it in hand, and nothing else.
 *
 * Slow: workers fall silent for longer than a queue waits for them, and stores stay away.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ensureJobs, openNatsJobs } from '../../../src/jobs/nats/jobs.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import type { JobStore } from '../../../src/jobs/store.ts';
import { type Nats, RETRY_MS } from '../../../src/nats/connection.ts';
import { ensurePool } from '../../../src/queue/nats/pool.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import type { Queue } from '../../../src/queue/queue.ts';
import { aRecord } from '../../conformance/samples.ts';
import { type Servers, startNats } from '../../kit/nats/nats.ts';
import { type runStub, type Stub, startStub } from '../../kit/worker/stub-worker.ts';

/** Short, so that what is lost is soon handed to the next. */
const ACK_WAIT_MS = 300;
/** Calls to NATS have been given up by then. */
const AWAY_MS = RETRY_MS + 3_000;

let servers: Servers;
let nats: Nats;
let jobs: JobStore;
let queue: Queue;
let children: ChildProcess[];
let stubs: Stub[];
let id: string;
beforeEach(async () => {
  [children, stubs] = [[], []];
  servers = await startNats();
  nats = await servers.connect();
  await ensureJobs(nats, 1);
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1, unheardMs: ACK_WAIT_MS });
  [jobs, queue] = [openNatsJobs(nats), openNatsQueue(nats, { ackWaitMs: ACK_WAIT_MS, unheardMs: ACK_WAIT_MS })];
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const stub of stubs) await stub.drain(0);
  await queue.close();
  await servers.stop();
});

async function order(): Promise<void> {
  const now = Date.now();
  const { record } = await jobs.create(aRecord({ createdAt: now, expiresAt: now + 7_200_000 }));
  id = record.id;
  await queue.publish({ version: 1, jobId: id, pool: record.pool, lane: record.lane });
}
const recordNow = async (): Promise<JobRecord | undefined> => (await jobs.get(id))?.record;
const until = (state: JobRecord['state']) => vi.waitFor(async () => expect((await recordNow())?.state).toBe(state), { timeout: 60_000 });
const consumer = () => nats.manager.consumers.info('convert-image', 'interactive');

/** A worker as a separate process, with a thread that keeps its orders alive. @param kind what it does with an order */
function startProcess(
  name: string,
  kind: Omit<Parameters<typeof runStub>[0], 'servers' | 'name' | 'ackWaitMs'>,
  ackWaitMs = ACK_WAIT_MS,
): ChildProcess {
  const kit = new URL('../../kit/worker/stub-worker.ts', import.meta.url).href;
  const text = `(await import('${kit}')).runStub(${JSON.stringify({ servers: servers.addresses, name, ackWaitMs, ...kind })})`;
  const child = spawn(process.execPath, ['-e', text], { stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  return child;
}
const alive = () => {
  const stub = startStub(nats, { behaviour: 'end', ackWaitMs: ACK_WAIT_MS });
  stubs.push(stub);
  return stub;
};

/** Stops workers that are stopped, or not, each when it has just asked for an order. */
async function freezeAsking(workers: ReadonlyMap<string, ChildProcess>): Promise<void> {
  for (const child of workers.values()) child.kill('SIGSTOP');
  await vi.waitFor(async () => expect((await consumer()).num_waiting).toBe(0), 20_000);
  const asking = new Set<string>();
  const heard = nats.core.subscribe('$JS.API.CONSUMER.MSG.NEXT.convert-image.interactive', {
    callback: (_, message) => {
      const name = /^_INBOX\.(w\d)\./.exec(message.reply ?? '')?.[1] ?? '';
      // The other kind does not wait.
      if (!message.string().includes('expires')) return;
      workers.get(name)?.kill('SIGSTOP');
      asking.add(name);
    },
  });
  for (const child of workers.values()) child.kill('SIGCONT');
  await vi.waitFor(() => expect(asking.size).toBe(3), { timeout: 10_000, interval: 1 });
  heard.unsubscribe();
}

it('three workers that froze while they asked for orders cost a job no attempt, nor when they wake', async () => {
  const frozen = new Map(['w0', 'w1', 'w2'].map((name) => [name, startProcess(name, { behaviour: 'end' })]));
  await vi.waitFor(async () => expect((await consumer()).num_waiting).toBe(3), 20_000);
  // A request lapses after a second: on a busy machine three may not be open for long enough.
  for (let handed = 0; handed < 3; ) {
    await freezeAsking(frozen);
    const before = (await consumer()).delivered.consumer_seq;
    await order();
    handed = await vi.waitFor(async () => {
      const { delivered, num_waiting } = await consumer();
      expect(num_waiting).toBe(0);
      return delivered.consumer_seq - before;
    }, 10_000);
    if (handed < 3) await queue.remove('image', id);
  }
  expect(await recordNow()).toMatchObject({ state: 'queued', attempts: 0 });

  alive();
  await until('done');
  const stored = await jobs.get(id);
  expect(stored?.record.attempts).toBe(1);
  for (const child of frozen.values()) child.kill('SIGCONT');
  // The next order shows that one of them, or the other, is at work again.
  await order();
  await until('done');
  expect(await jobs.get(stored?.record.id ?? '')).toEqual(stored);
});

it('an order that went to a frozen worker goes to another soon, which keeps it when the first wakes', async () => {
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1 });
  const ackWaitMs = 30_000;
  const frozen = new Map(['w0', 'w1', 'w2'].map((name) => [name, startProcess(name, { behaviour: 'end' }, ackWaitMs)]));
  await vi.waitFor(async () => expect((await consumer()).num_waiting).toBe(3), 20_000);
  await freezeAsking(frozen);
  await order();
  await vi.waitFor(async () => expect((await consumer()).num_ack_pending).toBe(1), { timeout: 5_000, interval: 5 });
  const stub = startStub(nats, { behaviour: 'hang', ackWaitMs });
  stubs.push(stub);
  // A third of its ack wait: it may be given to each of the three, one after the other.
  await vi.waitFor(async () => expect(await recordNow()).toMatchObject({ state: 'running', attempts: 1 }), { timeout: 10_000 });
  const { attempt } = (await recordNow()) ?? {};

  for (const child of frozen.values()) child.kill('SIGCONT');
  // Others find the next order: those that woke have read what they were given.
  const first = id;
  await order();
  await until('done');
  id = first;
  expect(await recordNow()).toMatchObject({ state: 'running', attempts: 1, attempt });
  stub.finish();
  await until('done');
  expect(await recordNow()).toMatchObject({ attempts: 1, attempt });
});

it('the fourth worker that takes a job which killed three fails it', async () => {
  await order();
  for (const name of ['w0', 'w1', 'w2']) {
    const child = startProcess(name, { behaviour: 'die' });
    if (child.signalCode === null) await once(child, 'exit');
    expect(child.signalCode).toBe('SIGKILL');
  }
  expect(await recordNow()).toMatchObject({ state: 'running', attempts: 3 });
  alive();
  await until('error');
  expect(await recordNow()).toMatchObject({ attempts: 3, failure: { reason: 'engine_crashed' } });
});

it('workers that are drained, however often, cost a job no attempt', async () => {
  await order();
  for (let times = 0; times < 5; times++) {
    const stub = startStub(nats, { behaviour: 'hang', ackWaitMs: 30_000 });
    await stub.began;
    await stub.drain(0);
    expect(await recordNow()).toMatchObject({ state: 'queued', attempts: 0 });
  }
  alive();
  await until('done');
  expect(await recordNow()).toMatchObject({ attempts: 1 });
});

it('an order that lapsed while its holder was at work, as in a long outage, stays with it while no other worker claims it', async () => {
  const stub = startStub(nats, { behaviour: 'hang', ackWaitMs: ACK_WAIT_MS });
  stubs.push(stub);
  await order();
  await stub.began;
  const first = (await recordNow())?.attempt;
  // It has looked at its order, and found it gone.
  const looks: number[] = [];
  const heard = nats.core.subscribe('$JS.API.STREAM.MSG.GET.KV_jobs', { callback: () => void looks.push(0) });
  await vi.waitFor(() => expect(looks.length).toBeGreaterThan(1), 15_000);
  heard.unsubscribe();
  stub.finish();
  await until('done');
  expect(await recordNow()).toMatchObject({ attempts: 1, attempt: first });
  // Handed out once more, it is found to have ended.
  await vi.waitFor(async () => expect(await queue.has('image', id)).toBe(false), 10_000);
});

/** A connection on which the words that hold orders take their time, ms: `there`, to the server, or `back`, as its answers. */
function slowly({ there = 0, back = 0 }: { readonly there?: number; readonly back?: number }): Nats {
  const request: Nats['core']['request'] = async (subject, ...rest) => {
    if (!subject.startsWith('$JS.ACK.')) return nats.core.request(subject, ...rest);
    await pause(there);
    const answer = await nats.core.request(subject, ...rest);
    await pause(back);
    return answer;
  };
  const core = new Proxy(nats.core, {
    get(target, name) {
      if (name === 'request') return request;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...nats, core };
}

it('a worker whose messages arrive late keeps its job, however many others get the order', { timeout: 60_000 }, async () => {
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1 });
  await order();
  const workers = Array.from({ length: 5 }, () => startStub(slowly({ there: 3_000 }), { behaviour: 'hang', ackWaitMs: 30_000 }));
  stubs.push(...workers);
  await vi.waitFor(async () => expect((await recordNow())?.state).toBe('running'), { timeout: 10_000 });
  const first = (await recordNow())?.attempt;
  // It has gone to four workers, one after the other.
  await vi.waitFor(async () => expect((await consumer()).delivered.consumer_seq).toBeGreaterThan(3), { timeout: 10_000 });
  await pause(8_000);
  expect(await recordNow()).toMatchObject({ state: 'running', attempts: 1, attempt: first });
  for (const worker of workers) worker.finish();
  await until('done');
  expect(await recordNow()).toMatchObject({ attempts: 1, attempt: first });
});

it('a worker that gets its answers late keeps its job beyond the ack wait', { timeout: 60_000 }, async () => {
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1 });
  const ackWaitMs = 6_000;
  const worker = startStub(slowly({ back: 1_000 }), { behaviour: 'hang', ackWaitMs });
  stubs.push(worker);
  await order();
  await worker.began;
  const first = (await recordNow())?.attempt;
  stubs.push(startStub(nats, { behaviour: 'end', ackWaitMs }));
  await pause(2 * ackWaitMs);
  expect(await recordNow()).toMatchObject({ state: 'running', attempts: 1, attempt: first });
  worker.finish();
  await until('done');
  expect(await recordNow()).toMatchObject({ attempts: 1, attempt: first });
});

it('a job is not given up because workers froze with it, one after the other, once they wake', {
  timeout: 400_000,
}, async () => {
  // Long enough that one that is awake is never late, however busy the machine is.
  const ackWaitMs = 6_000;
  // No order goes on because its receiver was slow to say that it has it.
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1, unheardMs: 5_000 });
  await order();
  const frozen: ChildProcess[] = [];
  for (const name of ['w0', 'w1', 'w2']) {
    const before = (await recordNow())?.attempt;
    const child = startProcess(name, { behaviour: 'hang' }, ackWaitMs);
    await vi.waitFor(
      async () => {
        const record = await recordNow();
        expect(record?.state).toBe('running');
        expect(record?.attempt).not.toBe(before);
      },
      // A new process on a busy machine, and the ack wait of the one before.
      { timeout: 100_000 },
    );
    child.kill('SIGSTOP');
    frozen.push(child);
  }
  const last = await recordNow();
  expect(last).toMatchObject({ state: 'running', attempts: 3, lapsed: [expect.any(String), expect.any(String)] });
  for (const child of frozen.slice(0, 2)) child.kill('SIGCONT');
  await vi.waitFor(
    async () => {
      const { attempt, lapsed } = last ?? {};
      const record = await recordNow();
      expect(record?.state, JSON.stringify(record)).toBe('running');
      // Both have taken their claims back; the worker that holds it now got the order after them.
      if (record?.attempt === attempt) expect(record).toMatchObject({ attempts: 1 });
      else expect(record?.lapsed).toEqual([attempt]);
      for (const late of lapsed ?? []) expect(record?.lapsed ?? []).not.toContain(late);
    },
    // On a busy machine the two may be late in turn and claim it from each other: the moment between is short.
    { timeout: 100_000, interval: 2 },
  );
  for (const child of frozen) child.kill('SIGKILL');
  alive();
  await until('done');
});

it('a worker whose loop is held for longer than its ack wait keeps its order, and is heard of', { timeout: 60_000 }, async () => {
  const ackWaitMs = 5_000;
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1 });
  const words: string[] = [];
  nats.core.subscribe('worker.image.stub', { callback: (_, message) => void words.push(message.string()) });
  startProcess('w0', { behaviour: 'stall', stallMs: 2.5 * ackWaitMs }, ackWaitMs);
  await order();
  await until('running');
  const first = (await recordNow())?.attempt;
  const other = startStub(nats, { behaviour: 'end', ackWaitMs });
  stubs.push(other);
  await until('done');
  expect(await recordNow()).toMatchObject({ attempts: 1, attempt: first });
  expect(words).toContain('here');
});

it('a process whose loop is held for good ends; one that was stopped as a whole does not', { timeout: 60_000 }, async () => {
  const kit = new URL('../../../src/nats/keep-alive/keep-alive.ts', import.meta.url).href;
  const connection = JSON.stringify({ servers: servers.addresses, name: 'k' });
  const open = `setInterval(() => {}, 500); await (await import('${kit}')).openKeepAlive(${connection}, 3000).ready;`;
  const start = (then: string) => {
    const child = spawn(process.execPath, ['-e', open + then], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return child;
  };
  const stopped = start("setInterval(() => console.log('alive'), 200);");
  await once(stopped.stdout, 'data');
  stopped.kill('SIGSTOP');
  const held = start("console.log('held'); for (;;);");
  await once(held, 'exit');
  expect(held.signalCode).toBe('SIGKILL');
  stopped.kill('SIGCONT');
  for (let words = 0; words < 10; words++) await once(stopped.stdout, 'data');
  expect(stopped.signalCode).toBeNull();
});

it('a worker with a result waits for a NATS that is away, longer than any request would', { timeout: 60_000 }, async () => {
  await ensurePool(nats, 'image', { capacity: 100, replicas: 1 });
  const stub = startStub(nats, { behaviour: 'hang', ackWaitMs: 30_000 });
  stubs.push(stub);
  await order();
  await stub.began;
  await servers.kill();
  stub.finish();
  await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
  await servers.restart();
  await until('done');
  expect(await recordNow()).toMatchObject({ attempts: 1 });
});

it('an object store that stays away does not keep a job for ever', async () => {
  await order();
  const stub = startStub(nats, { behaviour: 'find the store away', ackWaitMs: 30_000 });
  stubs.push(stub);
  await stub.began;
  await vi.waitFor(
    async () => expect(await recordNow()).toMatchObject({ state: 'queued', attempts: 0, queuedAt: expect.any(Number) }),
    5_000,
  );
  const stored = await jobs.get(id);
  if (stored === undefined) throw new Error('the record is gone');
  // As it will be six hours from now.
  await jobs.update({ ...stored.record, createdAt: stored.record.createdAt - 6 * 3_600_000 }, stored.revision);
  await until('error');
  expect(await recordNow()).toMatchObject({ failure: { reason: 'queue_timeout' } });
  await vi.waitFor(async () => expect(await queue.has('image', id)).toBe(false));
});
