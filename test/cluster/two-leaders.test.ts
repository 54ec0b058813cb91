/**
 * What the API server is relied on for, and no cache and no lease: two controllers that both lead, one of them blind for seconds, and never a Job too many.
 *
 * Slow: load comes in waves, and one leader is blind for seconds in each.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nats } from '../../src/nats/connection.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, type Controller, installResources, isFinished, jobsOf, startController } from '../kit/controller/controller.ts';
import { countLiveJobs, type LiveCount } from '../kit/controller/live-count.ts';
import { sendOrders } from '../kit/controller/orders.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type LateWatch, openLateWatch } from '../kit/kube/late-watch.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

const CAPACITY = 4;
const serviceMs = (pool: string) => (pool === 'crowd' ? 250 : 1_500);

let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let queue: Queue;
let crew: Crew;
let ways: readonly LateWatch[];
let live: LiveCount;
let controllers: readonly Controller[];

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 2 } }), startNats()]);
  nats = await servers.connect();
  queue = openNatsQueue(nats);
  await installResources(kubernetes);
  // As often one as the other is the first to act on what it believes.
  ways = await Promise.all([300, 3_000].map((delayMs) => openLateWatch(kubernetes.kubeconfig, `late-${delayMs}`, delayMs)));
  live = await countLiveJobs(kubernetes.kube, 'default');
  crew = await startStandIns({ kube: kubernetes.kube, nats, namespace: 'default', serviceMs });
  const natsUrl = servers.addresses.join(',');
  controllers = await Promise.all(
    ways.map(({ kubeconfig }, index) =>
      // Two leases, so that neither waits for the other.
      startController({ kubeconfig, natsUrl, settings: { controller: { lease: `leader-${index}` } } }),
    ),
  );
}, 120_000);
afterAll(async () => {
  await crew?.close();
  await Promise.all((controllers ?? []).map((controller) => controller.stop()));
  await live?.close();
  await Promise.all((ways ?? []).map((way) => way.close()));
  await queue?.close();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

const send = (pool: string, count: number) => sendOrders(queue, pool, count);
const workersOf = (pool: string) => [...crew.there].filter(([, worker]) => worker.pool === pool).map(([pod]) => pod);
/** How many leaders logged that they created workers of the pool. */
const makersOf = (pool: string) =>
  controllers.filter(({ lines }) => lines.some((line) => line.includes('created workers') && line.includes(`"${pool}"`))).length;

describe('two controllers that lead at once, one of which hears of everything seconds late', () => {
  it('never have more live Jobs than the capacity, under load that comes in waves and workers that die', async () => {
    await applyPool(
      kubernetes.kube,
      aPool('crowd', { capacity: CAPACITY, idleSeconds: 1, targetWaitSeconds: 1, conversionsPerWorker: 8, standby: 1 }),
    );
    await eventually(() => workersOf('crowd').length > 0, 'a first worker', 30_000);
    // And on, until both have had something to do: which of them acts first is chance.
    for (let wave = 0; wave < 9 || (wave < 21 && makersOf('crowd') < 2); wave++) {
      await send('crowd', 20);
      await pause(1_200);
      // Its failed Job stays, and holds its name.
      const [victim] = workersOf('crowd');
      if (victim !== undefined) await crew.die(victim);
      await pause(wave % 3 === 2 ? 3_500 : 600);
    }
    const idle = async () => {
      const { waiting, held } = await queue.depth('crowd');
      return waiting + held === 0;
    };
    await eventually(idle, 'all orders are done', 60_000);

    expect(live.most('crowd')).toBe(CAPACITY);
    // Or none of this was put to the test.
    const slots = live.names('crowd').map((name) => Number(name.split('-').at(-1)));
    expect(Math.max(...slots)).toBeGreaterThanOrEqual(CAPACITY);
    expect(makersOf('crowd')).toBe(2);
    expect(ways.every((way) => way.watches() > 2)).toBe(true);
  }, 150_000);

  it('take back a capacity that was lowered while one of them has not heard of it', async () => {
    const one = { idleSeconds: 1, conversionsPerWorker: 1, targetWaitSeconds: 1 };
    await applyPool(kubernetes.kube, aPool('lowered', { ...one, capacity: 6 }));
    await eventually(() => workersOf('lowered').length > 0, 'a first worker', 30_000);
    const unfinished = async () => (await jobsOf(kubernetes.kube, 'lowered')).filter((job) => !isFinished(job)).length;
    await send('lowered', 24);
    await eventually(async () => (await unfinished()) >= 5, 'it is full', 30_000);
    await applyPool(kubernetes.kube, aPool('lowered', { ...one, capacity: 2 }));
    // Each ends after one order: once they have, all that come are of the new capacity.
    await eventually(async () => (await unfinished()) <= 2, 'those above it have gone', 10_000);
    const since = await countLiveJobs(kubernetes.kube, 'default');
    await send('lowered', 20);
    await pause(5_000);
    const most = since.most('lowered');
    await since.close();
    expect(most).toBeLessThanOrEqual(2);
    expect((await jobsOf(kubernetes.kube, 'lowered')).length).toBeGreaterThan(0);
  }, 90_000);
});
