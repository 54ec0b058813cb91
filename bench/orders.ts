/** The way of an order through NATS alone: how soon a worker starts it, and how many can go it in a second. */
import { ensureJobs, openNatsJobs } from '../src/jobs/nats/jobs.ts';
import type { Nats } from '../src/nats/connection.ts';
import { ensurePool } from '../src/queue/nats/pool.ts';
import { runningBelow } from '../test/kit/exec/processes.ts';
import { startNats } from '../test/kit/nats/nats.ts';
import { type Child, startChild } from './child.ts';
import { cpuOf } from './cpu.ts';
import type { Done } from './noop-worker.ts';
import type { Published, Wish } from './publisher.ts';
import { goalRow, quantile, sizeOf } from './rows.ts';

const POOL = 'image';
/** Orders that one process of workers holds at a time: enough to keep it and the server busy. */
const SLOTS = 64;

interface Line {
  readonly nats: Nats;
  readonly publisher: Child;
  readonly worker: Child;
  /** Pid of the NATS server. */
  readonly server: number;
}

/** @param jetstream of the server's configuration, beyond what it has by default */
async function within(slots: number, jetstream: object, measure: (line: Line) => Promise<void>): Promise<void> {
  const servers = await startNats(1, {}, jetstream);
  const children: Child[] = [];
  try {
    const nats = await servers.connect();
    await ensureJobs(nats, 1);
    await ensurePool(nats, POOL, { capacity: 100_000, replicas: 1 });
    const at = { servers: servers.addresses, pool: POOL };
    const publisher = await startChild('publisher.ts', at);
    const worker = await startChild('noop-worker.ts', { ...at, slots, engines: {} });
    children.push(publisher, worker);
    const [server = 0] = runningBelow('nats-server', 'server.conf');
    await measure({ nats, publisher, worker, server });
  } finally {
    await Promise.all(children.map((child) => child.end()));
    await servers.stop();
  }
}

/** Publishes so many orders, and waits for their end. */
async function send({ publisher, worker }: Line, count: number, wish: Wish): Promise<Published & Done> {
  const done = worker.ask<Done>({ count });
  const published = await publisher.ask<Published>(wish);
  return { ...published, ...(await done) };
}

/** From before an order is published, which is stricter than from its acceptance, to its conversion: claimed, that is. */
async function startsOf(line: Line): Promise<void> {
  const [perSecond, seconds] = [100, sizeOf('BENCH_STARTS_SECONDS', 30)];
  const forSeconds = (count: number) => send(line, perSecond * count, { paced: { perSecond, count: perSecond * count } });
  await forSeconds(1);
  const { asked, started } = await forSeconds(seconds);
  const took = [...started].map(([id, at]) => at - (asked.get(id) ?? at));
  goalRow(
    'order published → a worker has claimed it, 100 a second',
    'p99 at most 20 ms',
    `p50 ${quantile(took, 0.5).toFixed(1)} ms, p99 ${quantile(took, 0.99).toFixed(1)} ms`,
  );
}

async function flowOf(line: Line, what: string, goal: string, count: number): Promise<void> {
  const flow = async (orders: number) => {
    await line.publisher.ask({ records: orders } satisfies Wish);
    const [server, workers] = [cpuOf(line.server), cpuOf(line.worker.pid)];
    const { startedAt, endedAt } = await send(line, orders, {});
    const each = (from: number, pid: number) => ((cpuOf(pid) - from) / orders).toFixed(2);
    return `${Math.round((orders / (endedAt - startedAt)) * 1000)} a second; of CPU, each took ${each(server, line.server)} ms in the server and ${each(workers, line.worker.pid)} ms in the worker`;
  };
  await flow(Math.ceil(count / 10));
  goalRow(what, goal, await flow(count));
}

async function readsOf({ nats }: Line): Promise<void> {
  const jobs = openNatsJobs(nats);
  const ids: string[] = [];
  for await (const { record } of jobs.scan()) ids.push(record.id);
  const took: number[] = [];
  for (let time = 0; time < 5_000; time++) {
    const started = performance.now();
    await jobs.get(ids[(time * 7_919) % ids.length] ?? '');
    took.push(performance.now() - started);
  }
  const warm = took.slice(500);
  goalRow(
    `a record read, of ${ids.length.toLocaleString('en')}`,
    'at most 1 ms',
    `p50 ${quantile(warm, 0.5).toFixed(2)} ms, p99 ${quantile(warm, 0.99).toFixed(2)} ms`,
  );
}

export async function orders(): Promise<void> {
  const count = sizeOf('BENCH_ORDERS', 20_000);
  await within(4, {}, startsOf);
  await within(SLOTS, {}, async (line) => {
    await flowOf(line, 'no-op orders, default sync', '5,000 a second', count);
    await readsOf(line);
  });
  await within(SLOTS, { sync_interval: 'always' }, (line) =>
    flowOf(line, 'no-op orders, `sync_interval: always`', '(to be told)', Math.ceil(count / 10)),
  );
}
