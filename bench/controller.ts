/** The operator at size: many nodes, pools and Jobs, at rest and under a burst of orders. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ORDER_VERSION } from '../src/contracts/messages/order.ts';
import { openNatsQueue } from '../src/queue/nats/queue.ts';
import type { Queue } from '../src/queue/queue.ts';
import { aPool, applyPool, type Controller, installResources, startController } from '../test/kit/controller/controller.ts';
import { type Cluster, startKubernetes } from '../test/kit/kube/kubernetes.ts';
import { until } from '../test/kit/kube/until.ts';
import { type Servers, startNats } from '../test/kit/nats/nats.ts';
import { checkout } from '../test/kit/roles/service.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { GOAL_HEAD, goalRow, sizeOf } from './rows.ts';
import { type Buckets, countOf, looksOf, quantileMs, residentOf, since } from './scrape.ts';

const NAMESPACE = 'filemill';
const ACCOUNT = { name: 'filemill-controller', namespace: NAMESPACE };
const USER = `system:serviceaccount:${NAMESPACE}:${ACCOUNT.name}`;
/** Pools of the burst: workers that do many orders each, and one Job for each order. */
const BURSTS = [
  { name: 'shared', most: 100 },
  { name: 'single', most: 1 },
] as const;
/** After the last start of a worker, ms: words, statuses and Events settle. */
const SETTLE_MS = 20_000;

const sizes = () => ({
  nodes: sizeOf('BENCH_NODES', 1_000),
  pools: sizeOf('BENCH_POOLS', 40),
  jobs: sizeOf('BENCH_JOBS', 5_000),
  idleSeconds: sizeOf('BENCH_IDLE_SECONDS', 60),
  burst: sizeOf('BENCH_BURST', 2_000),
  burstWorkers: sizeOf('BENCH_BURST_WORKERS', 200),
});
type Sizes = ReturnType<typeof sizes>;

interface World {
  readonly kubernetes: Cluster;
  readonly servers: Servers;
  readonly queue: Queue;
  readonly fleet: Fleet;
  start(settings: object): Promise<Controller>;
}

export async function controller(): Promise<void> {
  const size = sizes();
  const [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: size.nodes } }), startNats()]);
  const nats = await servers.connect();
  const queue = openNatsQueue(nats);
  try {
    await kubectl(kubernetes, 'create', 'namespace', NAMESPACE);
    await installResources(kubernetes);
    await kubectl(kubernetes, 'apply', '--server-side', '-f', join(checkout, 'manifests/rbac/controller.yaml'));
    const kubeconfig = await kubernetes.kubeconfigFor(ACCOUNT);
    const most = (pool: string) => BURSTS.find(({ name }) => name === pool)?.most;
    const fleet = await startFleet({ kube: kubernetes.kube, nats, queue, namespace: NAMESPACE, most });
    const start = (settings: object) =>
      startController({
        kubeconfig,
        natsUrl: servers.addresses.join(','),
        environment: { LOG_LEVEL: 'warn' },
        settings: { controller: { namespace: NAMESPACE, ...settings } },
      });
    await measure({ kubernetes, servers, queue, fleet, start }, size);
    await fleet.close();
  } finally {
    await queue.close();
    await Promise.all([kubernetes.stop(), servers.stop()]);
  }
}

async function measure(world: World, size: Sizes): Promise<void> {
  const { kubernetes, start } = world;
  const { nodes, pools, jobs, burst } = size;
  const [nodeCount, poolCount, jobCount] = [nodes, pools, jobs].map((count) => count.toLocaleString('en'));
  console.log(`\n${nodeCount} nodes, ${poolCount} pools, ${jobCount} Jobs; a burst of ${burst.toLocaleString('en')} orders of 1 s.\n`);
  console.log(GOAL_HEAD);
  const rows = [];

  // The fleet starts faster than in production, to save time.
  progress('the workers come up');
  const filler = await start({ jobsPerSecond: 1_000, jobsBurst: 10_000 });
  const filled = await fill(world, size);
  rows.push(await lookRow(filler, `while ${jobCount} workers come up, with their Jobs made`, new Map()));
  await filler.stop();

  // As after a restart: everything is read again, and it makes Jobs as fast as it does unless told otherwise.
  progress('the controller restarts');
  const steady = await start({});
  await until('the leader to have looked at every pool', async () => countOf(await looksOf(steady.url)) >= pools);
  await pause(SETTLE_MS);
  progress('at rest');
  const [before, from] = [await looksOf(steady.url), Date.now()];
  await pause(size.idleSeconds * 1000);
  const [after, till] = [await looksOf(steady.url), Date.now()];
  const rest = residentOf(steady.child.pid ?? 0);
  rows.push(await lookRow(steady, 'at rest', before, after));

  const bursts: string[] = [];
  for (const { name, most } of BURSTS) {
    progress(`the burst, ${name}`);
    const begun = await looksOf(steady.url);
    bursts.push(`${name === 'single' ? 'one Job per order' : `${most} orders a worker`}: ${await burstOf(world, size, name)}`);
    rows.push(await lookRow(steady, `in the burst, ${most === 1 ? 'one Job per order' : `${most} orders a worker`}`, begun));
  }
  const peak = residentOf(steady.child.pid ?? 0);
  await steady.stop();

  goalRow('memory of the controller', 'under 256 MB', `${mb(rest.now)} MB at rest, ${mb(peak.peak)} MB at most`);
  for (const row of rows) row();
  goalRow('idle API traffic', 'under 1 a second', await trafficOf(kubernetes, from, till));
  for (const told of bursts) goalRow('burst', 'to be told', told);
  goalRow('the workers come up', '—', `in ${filled} s`);
}

/** @returns s */
async function fill({ kubernetes, fleet }: World, { pools, jobs }: Sizes): Promise<string> {
  const each = Math.ceil(jobs / pools);
  const started = performance.now();
  for (let index = 0; index < pools; index++)
    await applyPool(kubernetes.kube, pool(`p${index}`, { capacity: each, standby: each, conversionsPerWorker: 100 }));
  await until('all workers to be there', () => fleet.size() >= each * pools, 600_000);
  return ((performance.now() - started) / 1000).toFixed(0);
}

async function burstOf({ kubernetes, queue, fleet }: World, { burst, burstWorkers }: Sizes, name: string): Promise<string> {
  const most = BURSTS.find((one) => one.name === name)?.most ?? 1;
  await applyPool(kubernetes.kube, pool(name, { capacity: burstWorkers, conversionsPerWorker: most, idleSeconds: 5 }));
  // The stream is there once the pool is declared, and its first worker comes to say what it can do.
  await until('the pool to be declared', () =>
    queue.depth(name).then(
      () => true,
      () => false,
    ),
  );
  const from = Date.now();
  const started = performance.now();
  await Promise.all(Array.from({ length: burst }, () => publish(queue, name)));
  await until('every order to have been started', () => fleet.taken(name).length >= burst, 480_000);
  const seconds = (Math.max(...fleet.taken(name)) - started) / 1000;
  await until('every order to be done', async () => {
    const { waiting, held } = await queue.depth(name);
    await pause(200);
    return waiting + held === 0;
  });
  const made = (await calls(kubernetes, from, Date.now())).filter(
    ({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'jobs',
  ).length;
  return `last start after ${seconds.toFixed(0)} s, ${made} Jobs made`;
}

async function publish(queue: Queue, pool: string): Promise<void> {
  const jobId = randomBytes(16).toString('hex');
  await queue.publish({ version: ORDER_VERSION, jobId, pool, lane: 'interactive' });
}

async function lookRow({ url }: Controller, when: string, before: Buckets, after?: Buckets): Promise<() => void> {
  const looks = since(before, after ?? (await looksOf(url)));
  const said = `p50 ${quantileMs(looks, 0.5).toFixed(0)} ms, p99 ${quantileMs(looks, 0.99).toFixed(0)} ms of ${countOf(looks)}`;
  return () => goalRow(`one look at one pool, ${when}`, 'p99 under 100 ms', said);
}

/** What the controller asked the API server for, ms since the epoch. A watch counts when it begins. */
async function calls({ auditLog }: Cluster, from: number, till: number) {
  return (await auditLog()).filter(({ stage, verb, user, requestReceivedTimestamp }) => {
    const at = Date.parse(requestReceivedTimestamp);
    return user.username === USER && at >= from && at < till && stage === (verb === 'watch' ? 'ResponseStarted' : 'ResponseComplete');
  });
}

async function trafficOf(kubernetes: Cluster, from: number, till: number): Promise<string> {
  const all = await calls(kubernetes, from, till);
  const kinds = new Map<string, number>();
  for (const { verb, objectRef } of all) {
    const kind = `${verb} ${[objectRef?.resource, objectRef?.subresource].filter(Boolean).join('/')}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const told = [...kinds].map(([kind, count]) => `${count} ${kind}`).join(', ');
  const seconds = (till - from) / 1000;
  return `${(all.length / seconds).toFixed(2)} a second: in ${seconds.toFixed(0)} s ${told}`;
}

const pool = (name: string, spec: Readonly<Record<string, unknown>>) =>
  aPool(name, { idleSeconds: 300, ...spec }, { namespace: NAMESPACE });

/** Not of the tables. */
const progress = (what: string): void => console.error(`${new Date().toISOString()} ${what}`);

const mb = (bytes: number): string => (bytes / 1e6).toFixed(0);

async function kubectl(cluster: Cluster, ...args: string[]): Promise<void> {
  const { code, stderr } = await cluster.kubectl(args);
  if (code !== 0) throw new Error(stderr);
}
