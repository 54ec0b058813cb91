/**
 * Workers that go, and names that are taken: a pool comes back to what it should be, with never more than its capacity.
 *
 * Slow: Kubernetes gives up the pods of a lost node after half a minute, and failing workers are made ever more seldom.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOOLCHAIN_POOLS } from '../../src/controller/pools/objects.ts';
import { unlessNotFound } from '../../src/kube/connection/error.ts';
import { startReflector } from '../../src/kube/reflector.ts';
import { JOBS, type KubeObject, PODS } from '../../src/kube/resource.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, condition, isFinished, type Job, jobsOf, type Pool } from '../kit/controller/controller.ts';
import { type Operator, startOperator } from '../kit/controller/operator.ts';
import { endPod } from '../kit/controller/pod-end.ts';
import type { Crew } from '../kit/controller/stand-ins.ts';

interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
}

const namespace = 'team';
/** Pools whose workers end at once. */
const failing = new Set<string>();
/** Pools whose workers end right after their first word. */
const dying = new Set<string>();
let operator: Operator;
let crew: Crew;

beforeAll(async () => {
  operator = await startOperator({
    pools: ['broken', 'crashes', 'evicted', 'foreground', 'lost', 'names', 'same', 'short-lived'],
    nodes: { image: 2, office: 2 },
    comesUp: (pool) => !failing.has(pool),
    livesOn: (pool) => !dying.has(pool),
  });
  crew = await operator.team(namespace);
}, 120_000);
afterAll(() => operator?.stop());

const declare = (name: string, spec: object = {}): Promise<Pool> =>
  applyPool(operator.kubernetes.kube, aPool(name, { ...spec }, { namespace }));
const jobs = (pool: string) => jobsOf(operator.kubernetes.kube, pool, namespace);
const workersOf = (pool: string) => [...crew.there].filter(([, worker]) => worker.pool === pool).map(([pod]) => pod);
const has = (name: string, workers: number, ms?: number) =>
  operator.poolIs(
    namespace,
    name,
    `${workers} workers`,
    ({ status }) => status?.workers === workers && status.idle === workers && workersOf(name).length === workers,
    ms,
  );
const podsOf = async (pool: string): Promise<Pod[]> => {
  const pods: Pod[] = [];
  for await (const { items } of operator.kubernetes.kube.pages<Pod>(PODS, { namespace, labelSelector: `filemill.io/pool=${pool}` }))
    pods.push(...items);
  return pods;
};
/** As kwok would, if the pod did not linger. */
const clearAway = ({ metadata }: Pod) => operator.kubernetes.kube.remove(PODS, metadata, { gracePeriodSeconds: 0 });
const linger = (pod: string) =>
  operator.kubernetes.kube.patch(PODS, { name: pod, namespace }, { metadata: { annotations: { 'filemill.io/linger': 'yes' } } });

/** A Job under a name that the pool needs: another owner's, unless it is `ours`. */
function obstacle(pool: Pool, slot: number, { ours = false, labelled = false, finished = false, finalizers = [] as string[] }): object {
  const { name, uid = '' } = pool.metadata;
  const owner = { apiVersion: 'filemill.io/v1alpha1', kind: 'ToolchainPool', name, uid, controller: true };
  return {
    metadata: {
      name: `filemill-${name}-${slot}`,
      namespace,
      finalizers,
      ...(ours && { ownerReferences: [owner] }),
      ...((ours || labelled) && { labels: { 'filemill.io/pool': name, 'filemill.io/slot': String(slot) } }),
    },
    spec: {
      // Without completions to reach it is complete at once; suspended it never begins.
      ...(finished ? { completions: 0, parallelism: 0 } : { suspend: true }),
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'theirs', image: 'x' }] } },
    },
  };
}

describe('a pool whose names are taken', () => {
  it('by finished, dying and foreign Jobs has its workers all the same, and touches no foreign one', async () => {
    const { kube } = operator.kubernetes;
    const pool = await declare('names', { capacity: 2, standby: 2, paused: true });
    const make = (slot: number, what: Parameters<typeof obstacle>[2]) => kube.create<Job>(JOBS, obstacle(pool, slot, what) as Job);
    const foreign = [await make(0, {}), await make(1, { labelled: true }), await make(2, { finished: true })];
    const dying = await make(3, { ours: true, finalizers: ['example.com/archive'] });
    await kube.remove(JOBS, dying.metadata);
    const finished = await make(4, { ours: true, finished: true });
    const before = await eventually(async () => {
      const now = await Promise.all(foreign.map(({ metadata }) => kube.get<Job>(JOBS, metadata)));
      return isFinished(now[2] as Job) && now;
    }, 'the Job controller has seen them');

    await declare('names', { capacity: 2, standby: 2 });
    let most = 0;
    await operator.poolIs(namespace, 'names', 'two workers', async ({ status }) => {
      most = Math.max(most, (await podsOf('names')).filter(({ metadata }) => metadata.deletionTimestamp === undefined).length);
      return status?.idle === 2 && status.workers === 2;
    });
    expect(most).toBeLessThanOrEqual(2);
    await eventually(
      async () => !(await jobs('names')).some(({ metadata }) => metadata.uid === finished.metadata.uid),
      'what has finished is gone',
    );
    expect(await Promise.all(foreign.map(({ metadata }) => kube.get(JOBS, metadata)))).toEqual(before);
    expect((await kube.get(JOBS, dying.metadata)).metadata.finalizers).toEqual(['example.com/archive']);
    expect((await operator.liveJobs(namespace, 'names')).length).toBe(3);
    await kube.patch(JOBS, dying.metadata, { metadata: { finalizers: null } });
  });

  it('by a Job that is deleted in the foreground waits for its pod, and no longer', async () => {
    const { kube } = operator.kubernetes;
    await declare('foreground', { capacity: 1, standby: 1 });
    await has('foreground', 1);
    const [pod] = await podsOf('foreground');
    const [job] = await jobs('foreground');
    if (pod === undefined || job === undefined) throw new Error('there is no worker');
    await linger(pod.metadata.name);
    await kube.remove(JOBS, job.metadata, { propagationPolicy: 'Foreground' });
    await operator.poolIs(namespace, 'foreground', 'one leaves', ({ status }) => status?.workers === 1 && status.idle === 0);
    await pause(3_000);
    expect((await podsOf('foreground')).map(({ metadata }) => metadata.uid)).toEqual([pod.metadata.uid]);
    await clearAway(pod);
    await has('foreground', 1);
    expect(workersOf('foreground')).not.toContain(pod.metadata.name);
  });
});

describe('a pool whose workers fail', () => {
  it('keeps the last three, and replaces those that had worked at once', async () => {
    await declare('crashes', { standby: 1 });
    const died: string[] = [];
    for (let life = 0; life < 5; life++) {
      const pod = await eventually(() => workersOf('crashes').find((name) => !died.includes(name)), `worker ${life}`, 20_000);
      await operator.send('crashes', 1);
      await eventually(async () => crew.ended.size > life && (await operator.isQuiet('crashes')), 'it has worked', 20_000);
      await operator.poolIs(namespace, 'crashes', 'it is heard of', ({ status }) => status?.idle === 1);
      died.push(pod);
      await crew.die(pod);
      // Times of an end are whole seconds: which of two came last would not be known.
      await pause(1_100);
    }
    await eventually(
      async () => {
        const failed = (await podsOf('crashes')).filter(({ status }) => status?.phase === 'Failed').map(({ metadata }) => metadata.name);
        return failed.toSorted().join() === died.slice(-3).toSorted().join();
      },
      'the last three stay',
      20_000,
    );
    expect(condition(await operator.pool(namespace, 'crashes'), 'Degraded')?.status).toBe('False');
  });

  it('soon after their first word makes ever fewer of them, says so, and goes on when one lives', async () => {
    dying.add('short-lived');
    await declare('short-lived', { capacity: 2, standby: 2 });
    const begun = () => [...crew.begun.keys()].filter((pod) => pod.includes('short-lived')).length;
    const pool = await operator.poolIs(
      namespace,
      'short-lived',
      'it is degraded',
      // Where the machine is busy, the end of one may be heard of before its only heartbeat, and the condition first tells of that.
      (now) => condition(now, 'Degraded')?.status === 'True' && /soon after/.test(condition(now, 'Degraded')?.message ?? ''),
      60_000,
    );
    expect(condition(pool, 'Degraded')).toMatchObject({
      reason: 'WorkersFail',
      message: expect.stringMatching(/soon after its first heartbeat/),
    });
    const failed = begun();
    // Some more may have been on their way.
    expect(failed).toBeLessThanOrEqual(8);
    await pause(6_000);
    expect(begun()).toBe(failed);
    dying.delete('short-lived');
    await operator.send('short-lived', 1);
    await operator.poolIs(namespace, 'short-lived', 'it has recovered', (now) => condition(now, 'Degraded')?.status === 'False', 60_000);
    await has('short-lived', 2);
  }, 120_000);

  it('because they were evicted is not at fault, and one that ends in order while it is drained never counts as failed', async () => {
    const { kube } = operator.kubernetes;
    const failed = new Map<string, string>();
    const watched = startReflector<Job>({ kube, resource: JOBS, namespace, labelSelector: 'filemill.io/pool=evicted' });
    watched.onChange((_, job) => {
      const verdict = (job?.status?.conditions as readonly { type: string; reason?: string }[] | undefined)?.find(
        ({ type }) => type === 'Failed',
      );
      if (job !== undefined && verdict !== undefined) failed.set(job.metadata.uid ?? '', verdict.reason ?? '');
    });
    await watched.whenSynced();
    await declare('evicted', { capacity: 1, standby: 1 });
    for (const [exitCode, reasons] of [
      [0, []],
      [137, ['PodFailurePolicy']],
    ] as const) {
      await has('evicted', 1);
      const [pod] = workersOf('evicted');
      const [job] = (await jobs('evicted')).filter((one) => !isFinished(one));
      if (pod === undefined || job === undefined) throw new Error('there is no worker');
      await linger(pod);
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } };
      await kube.request('POST', `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`, eviction);
      const isTerminating = async () =>
        (await kube.get<Job & { status?: { terminating?: number } }>(JOBS, job.metadata)).status?.terminating === 1;
      await eventually(isTerminating, 'the Job controller knows that it goes', 20_000);
      await endPod(kube, { name: pod, namespace }, exitCode);
      await eventually(
        async () => !(await jobs('evicted')).some(({ metadata }) => metadata.uid === job.metadata.uid),
        'its Job is cleared away',
        20_000,
      );
      await kube.remove(PODS, { name: pod, namespace }, { gracePeriodSeconds: 0 }).catch(unlessNotFound);
      expect([...failed.values()].filter((reason) => !(reasons as readonly string[]).includes(reason))).toEqual([]);
    }
    await has('evicted', 1);
    const pool = await operator.pool(namespace, 'evicted');
    expect(condition(pool, 'Degraded')?.status).toBe('False');
    expect((await operator.events(namespace, 'evicted')).filter((reason) => reason === 'WorkersFail')).toEqual([]);
    await watched.close();
  }, 100_000);

  it('before their first word tries a new template at once, whatever the old one waits for', async () => {
    failing.add('broken');
    const begun = (await declare('broken', { standby: 1 })).metadata.creationTimestamp ?? '';
    // After two failures the next attempt is 20 s away.
    await operator.poolIs(namespace, 'broken', 'it failed twice', (pool) => /^2 /.test(condition(pool, 'Degraded')?.message ?? ''), 60_000);
    const failures = (await jobs('broken'))
      .map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '') - Date.parse(begun))
      .toSorted((a, b) => a - b);
    expect(failures.length).toBe(2);
    expect((failures[1] ?? 0) - (failures[0] ?? 0)).toBeGreaterThanOrEqual(9_000);
    failing.delete('broken');
    await declare('broken', { standby: 1, image: 'filemill/image:mended' });
    await has('broken', 1, 15_000);
    const pool = await operator.poolIs(namespace, 'broken', 'it has recovered', (now) => condition(now, 'Degraded')?.status === 'False');
    expect(condition(pool, 'Ready')?.reason).toBe('Serving');
  }, 100_000);
});

it('has workers elsewhere when a node is lost, and none twice when it comes back', async () => {
  const spec = { capacity: 2, standby: 2, nodeSelector: { 'filemill.io/pool': 'office' } };
  await declare('lost', spec);
  await has('lost', 2);
  const before = await podsOf('lost');
  const node = before[0]?.spec?.nodeName ?? '';
  const there = before.filter(({ spec: on }) => on?.nodeName === node);
  for (const { metadata } of there) await linger(metadata.name);
  await operator.kubernetes.setNodeReady(node, 'Unknown');
  const dying = async () => (await podsOf('lost')).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  // Pods tolerate it for half a minute.
  await eventually(async () => (await dying()).length === there.length, 'they are given up', 60_000);
  await has('lost', 2, 15_000);
  expect((await dying()).map(({ metadata }) => metadata.uid).toSorted()).toEqual(there.map(({ metadata }) => metadata.uid).toSorted());
  expect((await operator.liveJobs(namespace, 'lost')).length).toBe(2);

  await operator.kubernetes.setNodeReady(node, 'True');
  const kept = (await operator.liveJobs(namespace, 'lost')).map(({ metadata }) => metadata.uid).toSorted();
  for (const pod of await dying()) await clearAway(pod);
  await pause(4_000);
  expect((await podsOf('lost')).length).toBe(2);
  expect((await operator.liveJobs(namespace, 'lost')).map(({ metadata }) => metadata.uid).toSorted()).toEqual(kept);
  expect(condition(await operator.pool(namespace, 'lost'), 'Progressing')?.reason).toBe('AsDesired');
}, 150_000);

describe('two pools of one name', () => {
  it('are one: the older has it, and when that has gone the other', async () => {
    const { kube } = operator.kubernetes;
    await operator.team('other');
    await declare('same', { standby: 1 });
    await has('same', 1);
    // Times of creation are whole seconds.
    await pause(1_100);
    await applyPool(kube, aPool('same', { standby: 1 }, { namespace: 'other' }));
    const second = await operator.poolIs('other', 'same', 'it says so', (pool) => condition(pool, 'Ready')?.reason === 'NameTaken');
    expect(condition(second, 'Degraded')).toMatchObject({
      status: 'True',
      reason: 'NameTaken',
      message: expect.stringContaining('namespace team'),
    });
    expect(condition(second, 'Progressing')?.status).toBe('Unknown');
    expect(second.status?.observedGeneration).toBe(second.metadata.generation);
    expect((await jobsOf(kube, 'same', 'other')).length).toBe(0);
    await kube.remove(TOOLCHAIN_POOLS, { name: 'same', namespace });
    await operator.poolIs('other', 'same', 'it takes over', ({ status }) => status?.idle === 1);
    await eventually(async () => (await jobs('same')).length === 0, 'the first has no workers left');
  });
});
