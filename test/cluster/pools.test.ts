/**
 * ToolchainPools on a real API server: Jobs come and go as the load asks, and never more than the capacity.
 *
 * Slow: workers back off, drain and time out at the pace of a real pool.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Nats } from '../../src/nats/connection.ts';
import { readPools } from '../../src/pools/nats/declarations.ts';
import { openNatsQueue } from '../../src/queue/nats/queue.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { eventually } from '../kit/api/wire.ts';
import {
  aPool,
  applyPool,
  type Controller,
  condition,
  installResources,
  isFinished,
  jobsOf,
  poolNamed,
  removePool,
  startController,
} from '../kit/controller/controller.ts';
import { sendOrders } from '../kit/controller/orders.ts';
import { type Crew, startStandIns } from '../kit/controller/stand-ins.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { type Servers, startNats } from '../kit/nats/nats.ts';

let kubernetes: Cluster;
let servers: Servers;
let nats: Nats;
let queue: Queue;
let controller: Controller;
let crew: Crew;
let serviceMs = 50;
let comesUp = true;

beforeAll(async () => {
  [kubernetes, servers] = await Promise.all([startKubernetes({ nodes: { image: 2, gpu: 1 } }), startNats()]);
  nats = await servers.connect();
  queue = openNatsQueue(nats);
  await installResources(kubernetes);
  controller = await startController({ kubeconfig: kubernetes.kubeconfig, natsUrl: servers.addresses.join(',') });
  crew = await startStandIns({ kube: kubernetes.kube, nats, namespace: 'default', serviceMs: () => serviceMs, comesUp: () => comesUp });
}, 120_000);
afterAll(async () => {
  await crew?.close();
  await controller?.stop();
  await queue?.close();
  await Promise.all([kubernetes?.stop(), servers?.stop()]);
});
afterEach(async () => {
  serviceMs = 50;
  comesUp = true;
});

const send = (pool: string, count: number) => sendOrders(queue, pool, count);
const workersOf = (pool: string) => [...crew.there.values()].filter((worker) => worker.pool === pool).length;
const isQuiet = async (pool: string) => {
  const { waiting, held } = await queue.depth(pool);
  return waiting + held === 0;
};
const poolIs = (name: string, what: string, holds: (pool: Awaited<ReturnType<typeof poolNamed>>) => boolean, ms = 20_000) =>
  eventually(async () => holds(await poolNamed(kubernetes.kube, name)), what, ms);

describe('a pool', () => {
  it('that is new gets one worker to tell what it can do, is declared, and scales to nothing', async () => {
    await applyPool(kubernetes.kube, aPool('first'));
    await eventually(async () => [...crew.begun.keys()].some((pod) => pod.startsWith('filemill-first-')), 'a worker has begun', 20_000);
    await eventually(
      async () => (await readPools(nats)).some(({ name, toolchain }) => name === 'first' && toolchain === 'image'),
      'it is declared',
      10_000,
    );
    await poolIs(
      'first',
      'it is ready without workers',
      (pool) => condition(pool, 'Ready')?.reason === 'ScaledToZero' && pool.status?.workers === 0,
    );
    await eventually(async () => (await jobsOf(kubernetes.kube, 'first')).length === 0, 'its Job is gone', 10_000);
  }, 60_000);

  it('grows with its load, stays within its capacity, and shrinks by draining when it is over', async () => {
    serviceMs = 1_500;
    await applyPool(kubernetes.kube, aPool('load', { capacity: 4, targetWaitSeconds: 1 }));
    await eventually(async () => workersOf('load') > 0, 'its first worker', 20_000);
    await send('load', 20);
    let [most, running] = [0, 0];
    await eventually(
      async () => {
        most = Math.max(most, (await jobsOf(kubernetes.kube, 'load')).filter((job) => !isFinished(job)).length);
        running = Math.max(running, (await poolNamed(kubernetes.kube, 'load')).status?.running ?? 0);
        return isQuiet('load');
      },
      'all orders are done',
      60_000,
    );
    expect(most).toBe(4);
    expect(running).toBeGreaterThan(0);
    expect([...crew.ended.values()].every((times) => times === 1)).toBe(true);
    await poolIs('load', 'nothing is left', (pool) => pool.status?.workers === 0 && pool.status.desired === 0, 30_000);
    const { conditions } = (await poolNamed(kubernetes.kube, 'load')).status ?? {};
    expect(conditions?.map(({ type, status }) => `${type}=${status}`).toSorted()).toEqual([
      'CredentialsMissing=False',
      'Degraded=False',
      'NameContested=False',
      'Progressing=False',
      'Ready=True',
      'Reconciling=False',
      'Stalled=False',
    ]);
  }, 120_000);

  it('keeps its standby without churn, and scales by kubectl', async () => {
    await applyPool(kubernetes.kube, aPool('standby', { standby: 2 }));
    await eventually(async () => workersOf('standby') === 2, 'two wait', 20_000);
    const before = (await jobsOf(kubernetes.kube, 'standby')).map(({ metadata }) => metadata.uid).toSorted();
    // Longer than the idle time after which workers are retired.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect((await jobsOf(kubernetes.kube, 'standby')).map(({ metadata }) => metadata.uid).toSorted()).toEqual(before);

    const { code, stderr } = await kubernetes.kubectl(['scale', 'tp/standby', '--replicas=0']);
    expect([code, stderr]).toEqual([0, '']);
    await eventually(async () => (await jobsOf(kubernetes.kube, 'standby')).length === 0, 'capacity 0 drains it', 20_000);
    await kubernetes.kubectl(['scale', 'tp/standby', '--replicas=3']);
    await eventually(async () => workersOf('standby') === 2, 'they are back', 20_000);
    const waited = await kubernetes.kubectl(['wait', 'tp/standby', '--for=condition=Ready', '--timeout=20s']);
    expect(waited.code).toBe(0);
  }, 90_000);

  it('never loses an order to a scale-down, and never ends a busy worker', async () => {
    serviceMs = 4_000;
    await applyPool(kubernetes.kube, aPool('busy', { capacity: 3, standby: 3 }));
    await eventually(async () => workersOf('busy') === 3, 'three wait', 20_000);
    await send('busy', 3);
    await eventually(
      async () => [...crew.there.values()].filter(({ pool, held }) => pool === 'busy' && held > 0).length === 3,
      'all are busy',
      10_000,
    );
    const ended = crew.ended.size;
    await kubernetes.kubectl(['scale', 'tp/busy', '--replicas=0']);
    await eventually(async () => (await jobsOf(kubernetes.kube, 'busy')).length === 0, 'all have left', 30_000);
    expect(crew.ended.size - ended).toBe(3);
    expect(await isQuiet('busy')).toBe(true);
  }, 90_000);

  it('rolls its workers when its template changes, and leaves none of the old', async () => {
    await applyPool(kubernetes.kube, aPool('roll', { standby: 3 }));
    await eventually(async () => workersOf('roll') === 3, 'three wait', 20_000);
    await applyPool(kubernetes.kube, aPool('roll', { standby: 3, image: 'filemill/image:next' }));
    await eventually(
      async () => {
        const jobs = (await jobsOf(kubernetes.kube, 'roll')).filter((job) => !isFinished(job));
        const images = jobs.map(({ spec }) => (spec.template.spec['containers'] as { image: string }[])[0]?.image);
        return images.length === 3 && images.every((image) => image === 'filemill/image:next');
      },
      'all are new',
      40_000,
    );
  }, 90_000);

  it('that is paused makes no worker and ends none, until it goes on', async () => {
    await applyPool(kubernetes.kube, aPool('paused', { standby: 1 }));
    await eventually(async () => workersOf('paused') === 1, 'one waits', 20_000);
    await applyPool(kubernetes.kube, aPool('paused', { standby: 3, paused: true }));
    await poolIs('paused', 'it says so', (pool) => condition(pool, 'Ready')?.reason === 'Paused');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(workersOf('paused')).toBe(1);
    await applyPool(kubernetes.kube, aPool('paused', { standby: 3 }));
    await eventually(async () => workersOf('paused') === 3, 'three wait', 20_000);
  }, 60_000);

  it('whose workers end before their first word backs off, says so, and keeps three for their logs', async () => {
    comesUp = false;
    await applyPool(kubernetes.kube, aPool('broken', { capacity: 1 }));
    await poolIs('broken', 'it is degraded', (pool) => condition(pool, 'Degraded')?.reason === 'WorkersFail', 30_000);
    const failedOnce = await poolNamed(kubernetes.kube, 'broken');
    const { message = '' } = condition(failedOnce, 'Degraded') ?? {};
    // `helm install --wait` gives up where it is: the next worker may come up.
    expect(condition(failedOnce, 'Stalled')?.status).toBe('False');
    expect(message).toMatch(/ ended before the first heartbeat; the last one: exit code 1/);
    // 10 s, then 20 s: in half a minute there are two or three, not dozens.
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    expect((await jobsOf(kubernetes.kube, 'broken')).length).toBeLessThanOrEqual(3);
    await poolIs('broken', 'it needs attention after the second', (pool) => condition(pool, 'Stalled')?.status === 'True', 20_000);
    const events = await kubernetes.kubectl([
      'get',
      'events',
      '-o',
      'jsonpath={range .items[*]}{.reason} {.regarding.name}{.involvedObject.name}{"\\n"}{end}',
    ]);
    expect(events.stdout).toMatch(/WorkersFail broken/);
    comesUp = true;
    await poolIs('broken', 'it recovers', (pool) => condition(pool, 'Degraded')?.status === 'False', 60_000);
  }, 120_000);

  it('gets its stream of orders back when NATS has lost it', async () => {
    await nats.manager.streams.delete('convert-first');
    await eventually(
      () =>
        queue.depth('first').then(
          () => true,
          () => false,
        ),
      'there is a stream again',
      40_000,
    );
    await send('first', 1);
    await eventually(() => isQuiet('first'), 'its order is done', 20_000);
  }, 70_000);

  it('is gone with its Jobs, and is declared no more, when it is deleted', async () => {
    await removePool(kubernetes.kube, 'roll');
    await eventually(async () => (await jobsOf(kubernetes.kube, 'roll')).length === 0, 'its Jobs are gone', 30_000);
    await eventually(async () => !(await readPools(nats)).some(({ name }) => name === 'roll'), 'it is retracted', 30_000);
  }, 70_000);
});
