/** Orders in a pool that no worker serves: its workers do not come up, or the pool was removed. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ORDER_VERSION } from '../../src/contracts/messages/order.ts';
import { newRecord } from '../../src/jobs/lifecycle.ts';
import { openNatsJobs } from '../../src/jobs/nats/jobs.ts';
import type { JobRecord } from '../../src/jobs/record.ts';
import type { JobStore } from '../../src/jobs/store.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { openRegistry } from '../../src/pools/nats/registry.ts';
import { subscribeWorkers } from '../../src/pools/nats/workers.ts';
import { type KnownWorkers, poolsFor, type Registry } from '../../src/pools/registry.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { eventually } from '../kit/api/wire.ts';
import {
  aPool,
  applyPool,
  type Controller,
  condition,
  installResources,
  poolNamed,
  removePool,
  startController,
} from '../kit/controller/controller.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { type Cluster as Kubernetes, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Cluster, type Role, startCluster } from '../kit/roles/cluster.ts';

const JOBS = 6;
/** What stand-ins say that they have. */
const ENGINE = 'stand-in';
/** Workers end, are told of, and are waited for; the machine may be busy, ms. */
const PATIENCE_MS = 120_000;

let kubernetes: Kubernetes;
let cluster: Cluster;
let api: Role;
let controller: Controller;
let crew: Crew;
let nats: Nats;
let jobs: JobStore;
let queue: Queue;
let workers: KnownWorkers;
let registry: Registry;
const failing = new Set<string>();

beforeAll(async () => {
  [kubernetes, cluster] = await Promise.all([startKubernetes({ nodes: { image: 2 } }), startCluster()]);
  nats = await cluster.nats.connect();
  await installResources(kubernetes);
  controller = await startController({ kubeconfig: kubernetes.kubeconfig, natsUrl: cluster.nats.addresses.join(',') });
  api = await cluster.start('api', {}, { pools: { source: 'controller' } });
  crew = await startStandIns({
    kube: kubernetes.kube,
    nats,
    namespace: 'default',
    serviceMs: () => 20,
    comesUp: (pool) => !failing.has(pool),
  });
  [jobs, queue, workers] = [openNatsJobs(nats), openNatsQueue(nats), subscribeWorkers(nats, Date.now)];
  registry = await openRegistry(nats, { workers, own: [], clock: Date.now, report: () => {} });
  await applyPool(kubernetes.kube, aPool('spare', { standby: 1, preference: 1 }));
  await eventually(() => registry.pools().get('spare')?.engines.has(ENGINE), 'the spare pool serves', PATIENCE_MS);
}, 180_000);
afterAll(async () => {
  await crew?.close();
  await registry?.close();
  workers?.close();
  await queue?.close();
  await jobs?.close();
  await controller?.stop();
  await Promise.all([cluster?.stop(), kubernetes?.stop()]);
});

/** One whose workers have said what they can do, and have gone again. */
async function coldPool(name: string, spec: object = {}): Promise<void> {
  await applyPool(kubernetes.kube, aPool(name, { capacity: 2, ...spec }));
  await eventually(
    async () =>
      registry.pools().get(name)?.engines.has(ENGINE) === true &&
      condition(await poolNamed(kubernetes.kube, name), 'Ready')?.reason === 'ScaledToZero' &&
      ![...crew.there.values()].some(({ pool }) => pool === name),
    `${name} is known and cold`,
    PATIENCE_MS,
  );
}

/** As the API makes jobs. @returns their ids */
async function waitIn(pool: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomBytes(16).toString('hex'));
  for (const id of ids) {
    const record: JobRecord = {
      ...newRecord(id, Date.now()),
      pool,
      lane: 'interactive',
      filename: 'a.png',
      sources: [{ part: 0, sizeBytes: 1, format: 'png' }],
      target: { format: 'webp', extension: 'webp' },
      options: {},
      warnings: [],
    };
    await jobs.create(record);
    await queue.publish({ version: ORDER_VERSION, jobId: id, pool, lane: 'interactive' });
  }
  return ids;
}
const recordOf = async (id: string): Promise<JobRecord | undefined> => (await jobs.get(id))?.record;
const timesDone = (ids: readonly string[]) => ids.map((id) => crew.ended.get(id) ?? 0);
const shownIn = async (pool: string) => {
  const { data } = (await (await fetch(`${api.url}/api/v1/health`)).json()) as {
    data: { queue: Readonly<Record<string, { readonly waiting: number }>> };
  };
  return data.queue[pool]?.waiting;
};

it('of a preferred pool whose workers do not come up are done by its sibling, each once, and new ones go there', async () => {
  await coldPool('preferred');
  const best = () => poolsFor(registry.pools(), 'image', [ENGINE])[0]?.name;
  expect(best()).toBe('preferred');
  failing.add('preferred');
  const ids = await waitIn('preferred', JOBS);
  await eventually(() => timesDone(ids).every((times) => times > 0), 'the sibling has done them', PATIENCE_MS);
  expect(timesDone(ids)).toEqual(ids.map(() => 1));
  for (const id of ids) expect(await recordOf(id)).toMatchObject({ pool: 'spare', moved: { from: 'preferred', to: 'spare' } });
  expect((await queue.depth('preferred')).waiting).toBe(0);
  expect(best()).toBe('spare');
}, 300_000);

it('of a pool that was deleted are done by its sibling', async () => {
  await coldPool('deleted');
  await applyPool(kubernetes.kube, aPool('deleted', { paused: true }));
  await eventually(() => registry.pools().get('deleted')?.paused, 'it is paused', PATIENCE_MS);
  const ids = await waitIn('deleted', JOBS);
  await removePool(kubernetes.kube, 'deleted');
  await eventually(() => timesDone(ids).every((times) => times > 0), 'the sibling has done them', PATIENCE_MS);
  expect(timesDone(ids)).toEqual(ids.map(() => 1));
  for (const id of ids) expect(await recordOf(id)).toMatchObject({ pool: 'spare', moved: { from: 'deleted' } });
}, 300_000);

it('of a pool that was renamed wait for what it is called now', async () => {
  await coldPool('before', { toolchain: 'media' });
  await applyPool(kubernetes.kube, aPool('before', { toolchain: 'media', paused: true }));
  await eventually(() => registry.pools().get('before')?.paused, 'it is paused', PATIENCE_MS);
  const ids = await waitIn('before', JOBS);
  await removePool(kubernetes.kube, 'before');
  await applyPool(kubernetes.kube, aPool('after', { toolchain: 'media' }));
  await eventually(() => timesDone(ids).every((times) => times > 0), 'it has done them', PATIENCE_MS);
  for (const id of ids) expect(await recordOf(id)).toMatchObject({ pool: 'after' });
}, 300_000);

it('of a pool that was deleted, where no other can do as much, are seen to wait, and then fail with a reason', async () => {
  await coldPool('only', { toolchain: 'office' });
  await applyPool(kubernetes.kube, aPool('only', { toolchain: 'office', paused: true }));
  await eventually(() => registry.pools().get('only')?.paused, 'it is paused', PATIENCE_MS);
  const ids = await waitIn('only', JOBS);
  await removePool(kubernetes.kube, 'only');
  await eventually(
    async () => registry.removed().has('only') && ((await shownIn('only')) ?? 0) > 0,
    'health shows them though the pool is no more',
    PATIENCE_MS,
  );
  await eventually(
    async () => (await Promise.all(ids.map(recordOf))).every((record) => record?.state === 'error'),
    'they fail',
    PATIENCE_MS,
  );
  expect(await recordOf(ids[0] ?? '')).toMatchObject({ failure: { reason: 'engine_missing' } });
  await eventually(async () => (await shownIn('only')) === undefined, 'nothing waits there any more', PATIENCE_MS);
}, 300_000);
