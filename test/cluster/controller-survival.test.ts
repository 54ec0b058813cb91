/**
 * Whatever happens to the controllers, to Kubernetes and to NATS while orders keep coming: afterwards the world is as declared, and no order is lost.
 *
 * Slow: Kubernetes gives up the pods of a lost node after half a minute, a queue the orders of a dead worker after as long, and the store stands still for 20 s.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ORDER_VERSION } from '../../src/contracts/messages/order.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { readPools } from '../../src/pools/nats/declarations.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, installResources, isFinished, jobsOf, poolNamed, removePool } from '../kit/controller/controller.ts';
import { controllerAccount } from '../kit/controller/controller-account.ts';
import { sampleLiveJobs } from '../kit/controller/live-samples.ts';
import { sendOrders } from '../kit/controller/orders.ts';
import { type Replicas, startReplicas } from '../kit/controller/replicas.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { rounds, some } from '../kit/exec/rounds.ts';
import { type FaultyProxy, startFaultyProxy } from '../kit/kube/faulty-proxy.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

/** What an operator is promised, ms. */
const TAKEOVER_MS = 20_000;
const HANDOVER_MS = 2_000;

interface Kind {
  /** What one order takes, ms. */
  readonly serviceMs: number;
  /** Between two orders, ms. */
  readonly everyMs: number;
  readonly spec: Readonly<Record<string, unknown>> & { readonly capacity: number };
}
/** How much longer the pauses between orders are in a run that draws: what runs in pods takes most of the machine. */
const SLOWER = rounds(1, 8);
const POOLS: Readonly<Record<string, Kind>> = {
  quick: { serviceMs: 50, everyMs: 300, spec: { capacity: 3, idleSeconds: 2 } },
  steady: { serviceMs: 500, everyMs: 400, spec: { capacity: 4, standby: 1, conversionsPerWorker: 10 } },
  slow: { serviceMs: 2_000, everyMs: 700, spec: { capacity: 6, targetWaitSeconds: 2, standby: 2 } },
  doomed: { serviceMs: 300, everyMs: 600, spec: { capacity: 2, standby: 1 } },
};
/** To which it is raised under way. */
const EDITED = 5;
const most = (name: string) => (name === 'steady' ? EDITED : (POOLS[name]?.spec.capacity ?? 0));
const LASTING = Object.keys(POOLS).filter((name) => name !== 'doomed');

let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let queue: Queue;
let proxy: FaultyProxy;
let replicas: Replicas;
let crew: Crew;

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 2 } }), startNats()]);
  nats = await servers.connect();
  queue = openNatsQueue(nats);
  await installResources(kubernetes);
  proxy = await startFaultyProxy(await controllerAccount(kubernetes), 'proxy');
  const serviceMs = (pool: string) => POOLS[pool]?.serviceMs ?? 0;
  crew = await startStandIns({ kube: kubernetes.kube, nats, namespace: 'default', serviceMs, endsDeleted: true });
  replicas = await startReplicas(2, kubernetes, { kubeconfig: proxy.kubeconfig, natsUrl: servers.addresses.join(',') });
}, 120_000);
afterAll(async () => {
  await crew?.close();
  await replicas?.stop();
  await proxy?.close();
  await queue?.close();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

/** Sends to each pool at its pace until told to stop. @returns what was accepted, by pool */
function underLoad() {
  const accepted = new Map(Object.keys(POOLS).map((name) => [name, [] as string[]]));
  const stopping = new AbortController();
  const under = Object.entries(POOLS).map(async ([pool, { everyMs }]) => {
    const sent: Promise<unknown>[] = [];
    while (!stopping.signal.aborted) {
      const jobId = randomBytes(16).toString('hex');
      const order = { version: ORDER_VERSION, jobId, pool, lane: 'interactive' } as const;
      // What is not taken is not promised.
      sent.push(
        queue.publish(order).then(
          (answer) => void (answer === 'accepted' && accepted.get(pool)?.push(jobId)),
          () => {},
        ),
      );
      await pause(everyMs * SLOWER, undefined, { signal: stopping.signal }).catch(() => {});
    }
    await Promise.all(sent);
  });
  return {
    accepted,
    async stop() {
      stopping.abort();
      await Promise.all(under);
    },
  };
}

const busyIn = (pool: string) => [...crew.there].filter(([, worker]) => worker.pool === pool && worker.held > 0).map(([pod]) => pod);
const someone = (pool: string) => eventually(() => busyIn(pool)[0], `a worker of ${pool} is busy`, 30_000);
/** New orders of all pools are being done. */
async function works(pools: readonly string[] = LASTING, withinMs = 40_000) {
  for (const pool of pools) {
    const [jobId = ''] = await sendOrders(queue, pool, 1);
    await eventually(() => crew.ended.has(jobId), `${pool} works`, withinMs);
  }
}

type Event = readonly [name: string, happens: () => Promise<void>];

/** @param measured is filled with what they take, ms */
const events = (measured: Record<string, number>): readonly Event[] => [
  [
    'a controller and a worker are killed',
    async () => {
      measured['kill -9, ms'] = await replicas.takeover((leader) => leader.child.kill('SIGKILL'));
      await eventually(() => replicas.running().length === 2, 'both are back', 20_000);
      await crew.die(await someone('slow'));
    },
  ],
  [
    'both controllers end in turn',
    async () => {
      // The faster counts, where tests share the machine's cores.
      const handovers: number[] = [];
      for (let turn = 0; turn < 2; turn++) {
        handovers.push(await replicas.takeover((leader) => leader.child.kill('SIGTERM')));
        await eventually(() => replicas.running().length === 2, 'both are back', 20_000);
      }
      measured['SIGTERM, ms'] = Math.min(...handovers);
    },
  ],
  [
    'the API server is killed',
    async () => {
      await kubernetes.killApi();
      await pause(2_000);
      const livez = await Promise.all(replicas.running().map(async ({ url }) => (await fetch(`${url}/livez`)).status));
      expect(livez).toEqual([200, 200]);
      await kubernetes.startApi();
      await works();
    },
  ],
  [
    'its store freezes',
    async () => {
      await kubernetes.freezeEtcd();
      await pause(20_000);
      kubernetes.thawEtcd();
      await replicas.leader();
      await works();
    },
  ],
];

/** While a node is silent. */
const meanwhile: readonly Event[] = [
  [
    'a watch is cut, a worker evicted, a Job deleted',
    async () => {
      proxy.cut();
      const evicted = await someone('steady');
      await eventually(
        () =>
          kubernetes.kube
            .request('POST', `/api/v1/namespaces/default/pods/${evicted}/eviction`, { metadata: { name: evicted, namespace: 'default' } })
            .then(() => true),
        'it is evicted',
      );
      await eventually(() => !crew.there.has(evicted), 'its worker is gone');
      const [unwanted] = (await jobsOf(kubernetes.kube, 'slow')).filter((job) => !isFinished(job));
      await kubernetes.kubectl(['delete', 'job', unwanted?.metadata.name ?? '', '--wait=false']);
    },
  ],
  [
    'NATS and a worker are killed',
    async () => {
      await servers.kill();
      await pause(1_000);
      await servers.restart();
      await works();
      await crew.die(await someone('slow'));
    },
  ],
];

describe('two controllers under load', () => {
  it('outlive each other, the API server, its store, NATS, nodes, pods and what people do, and lose nothing', async () => {
    const measured: Record<string, number> = {};
    for (const [name, { spec }] of Object.entries(POOLS)) await applyPool(kubernetes.kube, aPool(name, spec));
    await eventually(async () => (await readPools(nats)).length === Object.keys(POOLS).length, 'all are declared', 30_000);
    const samples = sampleLiveJobs(kubernetes.kube, Object.keys(POOLS));
    const load = underLoad();
    await works(Object.keys(POOLS));

    for (const [, event] of some(events(measured), 2)) await event();

    // A node falls silent; its pods are given up after half a minute, whatever else happens meanwhile. Not before: Kubernetes tries to delete such
    // a pod five times within 50 ms, and leaves it for good where the API server is away just then.
    await kubernetes.setNodeReady('image-0', 'Unknown');
    for (const [, event] of some(meanwhile, 2)) await event();
    await applyPool(kubernetes.kube, aPool('steady', { ...POOLS['steady']?.spec, capacity: EDITED, image: 'filemill/image:next' }));
    await removePool(kubernetes.kube, 'doomed');
    await works();
    const onLostNode = '/api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3Dimage-0%2Cstatus.phase%3DRunning';
    const running = async () => (await kubernetes.kube.request<{ readonly items: readonly unknown[] }>('GET', onLostNode)).items;
    await eventually(async () => (await running()).length === 0, 'the pods of the lost node are given up', 60_000);
    await kubernetes.setNodeReady('image-0', 'True');

    await load.stop();
    const ended = (jobId: string) => crew.ended.get(jobId) ?? 0;
    const missing = () => LASTING.flatMap((pool) => load.accepted.get(pool) ?? []).filter((jobId) => ended(jobId) === 0);
    // What a dead worker held is handed out again half a minute later.
    await eventually(() => missing().length === 0, 'every order is done', 75_000);
    // What was not done in the removed pool waits until the pool is declared again.
    const { waiting, held } = await queue.depth('doomed');
    const left = (load.accepted.get('doomed') ?? []).filter((jobId) => ended(jobId) === 0);
    expect(left.length).toBe(waiting + held);
    const all = [...load.accepted.values()].flat();
    expect(all.length).toBeGreaterThan(rounds(400, 25));
    const twice = all.filter((jobId) => ended(jobId) > 1);
    expect(Math.max(...all.map(ended))).toBeLessThanOrEqual(2);
    // Those whose end was under way when NATS died, at most.
    expect(twice.length).toBeLessThanOrEqual(LASTING.reduce((sum, name) => sum + most(name), 0));

    for (const name of LASTING) {
      const standby = Number(POOLS[name]?.spec['standby'] ?? 0);
      const status = async () => (await poolNamed(kubernetes.kube, name)).status;
      await expect
        .poll(status, { message: `${name} is as declared`, timeout: 40_000, interval: 100 })
        .toMatchObject({ desired: standby, workers: standby, idle: standby });
      const jobs = (await jobsOf(kubernetes.kube, name)).filter((job) => !isFinished(job));
      expect(jobs.length).toBe(standby);
      if (name !== 'steady') continue;
      const images = jobs.map(({ spec }) => (spec.template.spec['containers'] as { image: string }[])[0]?.image);
      expect(images.every((image) => image === 'filemill/image:next')).toBe(true);
    }
    expect(await jobsOf(kubernetes.kube, 'doomed')).toEqual([]);
    await eventually(
      async () => (await readPools(nats)).map(({ name }) => name).join() === LASTING.toSorted().join(),
      'the registry has the pools that there are',
      70_000,
    );

    await samples.stop();
    expect(samples.looks()).toBeGreaterThan(100);
    for (const [name, count] of samples.seen) expect(count, `live Jobs of ${name}`).toBeLessThanOrEqual(most(name));
    // Those that happened.
    expect(measured['kill -9, ms'] ?? 0).toBeLessThan(TAKEOVER_MS);
    expect(measured['SIGTERM, ms'] ?? 0).toBeLessThan(HANDOVER_MS);
    // The last line that Node prints when an uncaught error has ended a process.
    expect(replicas.lines().filter((line) => /^Node\.js v/.test(line))).toEqual([]);
  }, 400_000);
});
