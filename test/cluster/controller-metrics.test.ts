/** What a controller says of itself: its probes while Kubernetes is there and while it is not, and its metrics. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Nats } from '../../src/nats/connection.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, type Controller, installResources, removePool, startController } from '../kit/controller/controller.ts';
import { sendOrders } from '../kit/controller/orders.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { type FaultyProxy, startFaultyProxy } from '../kit/kube/faulty-proxy.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let queue: Queue;
let proxy: FaultyProxy;
let controller: Controller;
let crew: Crew;

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 1 } }), startNats()]);
  nats = await servers.connect();
  queue = openNatsQueue(nats);
  await installResources(kubernetes);
  proxy = await startFaultyProxy(kubernetes.kubeconfig, 'proxy');
  crew = await startStandIns({ kube: kubernetes.kube, nats, namespace: 'default', serviceMs: () => 2_000 });
}, 120_000);
afterAll(async () => {
  await crew?.close();
  await controller?.stop();
  await proxy?.close();
  await queue?.close();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});

const probe = async (path: string) => (await fetch(controller.url + path)).status;
/** By name and labels, as in `workqueue_depth{name="toolchainpools"}`. */
async function series(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${controller.url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}
const send = (pool: string, count: number) => sendOrders(queue, pool, count);

describe('a controller', () => {
  it('is alive but not ready before it knows what there is', async () => {
    proxy.shut();
    controller = await startController({ kubeconfig: proxy.kubeconfig, natsUrl: servers.addresses.join(',') });
    expect([await probe('/livez'), await probe('/readyz')]).toEqual([200, 503]);
    expect((await series()).get('leader_election_master_status{name="filemill-controller"}')).toBe(0);
    proxy.open();
    await eventually(async () => (await probe('/readyz')) === 200, 'it is ready', 30_000);
  }, 60_000);

  it('measures its queues, its looks, its watches, and how pools stand', async () => {
    await applyPool(kubernetes.kube, aPool('one', { capacity: 1 }));
    await eventually(async () => (await series()).has('filemill_pool_desired_workers{pool="one"}'), 'it is known', 30_000);
    await eventually(() => [...crew.there.values()].some(({ pool }) => pool === 'one'), 'its worker', 30_000);
    await send('one', 6);
    const busy = await eventually(
      async () => {
        const now = await series();
        return now.get('filemill_pool_queued_orders{pool="one"}') === 4 ? now : undefined;
      },
      'one is held, or has just ended, and four wait',
      30_000,
    );
    expect(busy.get('filemill_pool_live_workers{pool="one"}')).toBe(1);
    expect(busy.get('filemill_pool_oldest_queued_seconds{pool="one"}')).toBeGreaterThan(0);
    expect(busy.get('filemill_pool_degraded{pool="one",pool_namespace="default"}')).toBe(0);
    expect(busy.get('filemill_pool_workers_created_total{pool="one"}')).toBeGreaterThanOrEqual(1);
    expect(busy.get('leader_election_master_status{name="filemill-controller"}')).toBe(1);
    expect(busy.get('workqueue_depth{name="toolchainpools"}')).toBeLessThanOrEqual(1);
    for (const name of ['workqueue_adds_total', 'workqueue_work_duration_seconds_count', 'workqueue_queue_duration_seconds_count'])
      expect(busy.get(`${name}{name="toolchainpools"}`), name).toBeGreaterThan(0);
    expect(busy.get('controller_runtime_reconcile_total{controller="toolchainpool",result="success"}')).toBeGreaterThan(0);
    expect(busy.get('controller_runtime_reconcile_time_seconds_count{controller="toolchainpool"}')).toBeGreaterThan(0);
    for (const resource of ['toolchainpools', 'jobs', 'pods']) {
      expect(busy.get(`filemill_watch_objects{resource="${resource}"}`), resource).toBeGreaterThanOrEqual(1);
      expect(busy.get(`filemill_watch_silence_seconds{resource="${resource}"}`), resource).toBeLessThan(90);
      expect(busy.get(`filemill_watch_lists{resource="${resource}"}`), resource).toBeLessThan(3);
    }
  }, 120_000);

  it('measures how soon workers are made for what waits', async () => {
    await eventually(async () => (await series()).get('filemill_pool_live_workers{pool="one"}') === 0, 'it is at rest', 60_000);
    const count = async () => (await series()).get('filemill_pool_dispatch_seconds_count{pool="one"}') ?? 0;
    const before = await count();
    // Not one: what a worker that has just left had asked for may be on its way to it, and does not wait.
    await send('one', 4);
    await eventually(async () => (await count()) > before, 'it was measured', 30_000);
  }, 100_000);

  it('counts ConversionJobs by phase, and names each phase from the start', async () => {
    const phase = async (name: string) => (await series()).get(`filemill_conversion_jobs{phase="${name}"}`);
    expect(await Promise.all(['Pending', 'Running', 'Complete', 'Failed', 'Expired', 'Cancelled'].map(phase))).toEqual([0, 0, 0, 0, 0, 0]);
    // No API serves here, so the job waits.
    await kubernetes.kubectl(['apply', '--server-side', '--filename=manifests/examples/jobs/report.yaml']);
    await eventually(async () => (await phase('Pending')) === 1, 'one is pending', 20_000);
    const status = { phase: 'Failed', completionTime: new Date().toISOString() };
    await kubernetes.kubectl(['patch', 'cvj/report', '--subresource=status', '--type=merge', `--patch=${JSON.stringify({ status })}`]);
    await eventually(async () => (await phase('Failed')) === 1 && (await phase('Pending')) === 0, 'it has failed', 20_000);
    await kubernetes.kubectl(['patch', 'cvj/report', '--type=merge', '--patch={"metadata":{"finalizers":null}}']);
    await kubernetes.kubectl(['delete', 'cvj/report', '--wait=false']);
    await eventually(async () => (await phase('Failed')) === 0, 'it is gone', 20_000);
  }, 100_000);

  it('counts the watches that were cut', async () => {
    const restarts = async () => (await series()).get('filemill_watch_restarts{resource="pods"}') ?? 0;
    const before = await restarts();
    proxy.cut();
    await eventually(async () => (await restarts()) > before, 'it watches again', 20_000);
  });

  it('forgets the series of a pool that is deleted', async () => {
    await removePool(kubernetes.kube, 'one');
    await eventually(async () => ![...(await series()).keys()].some((name) => name.includes('"one"')), 'its series are gone', 30_000);
    // And they stay away: what is still heard of its pods and workers brings none of them back.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect([...(await series()).keys()].filter((name) => name.includes('"one"'))).toEqual([]);
  }, 60_000);

  it('is not restarted for the want of an API server', async () => {
    await kubernetes.killApi();
    expect(await probe('/livez')).toBe(200);
    await kubernetes.startApi();
  });
});
