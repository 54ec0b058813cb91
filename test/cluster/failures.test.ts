/**
 * What keeps workers from coming up: the pool says so, makes no more of them, and goes on by itself when the cause has gone.
 *
 * Slow: each cause is held for as long as refused Jobs are tried more seldom.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeObject, NODES, PODS } from '../../src/kube/resource.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, condition, jobsOf } from '../kit/controller/controller.ts';
import { kstatus, type Operator, startOperator } from '../kit/controller/operator.ts';
import { some } from '../kit/exec/rounds.ts';
import { until } from '../kit/kube/until.ts';

interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string; readonly containerStatuses?: readonly object[] };
}

interface Cause {
  /** The reason in the condition `Degraded`. */
  readonly reason: string;
  readonly says: RegExp;
  readonly spec?: object;
  /** Before there is a pool. */
  readonly arrange?: (namespace: string) => Promise<void>;
  /** What a kubelet says that cannot start the container. */
  readonly waiting?: { readonly reason: string; readonly message: string };
  readonly cure: (namespace: string, pool: string) => Promise<unknown>;
}

let operator: Operator;

const refusing = (name: string, apiGroups: string[], resources: string[], message: string) => ({
  async arrange(namespace: string) {
    const api = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name } };
    const resourceRules = [{ apiGroups, apiVersions: ['v1'], operations: ['CREATE'], resources }];
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
    await operator.create(
      {
        ...api,
        kind: 'ValidatingAdmissionPolicy',
        spec: { matchConstraints: { resourceRules }, validations: [{ expression: 'false', message }] },
      },
      {
        ...api,
        kind: 'ValidatingAdmissionPolicyBinding',
        spec: { policyName: name, validationActions: ['Deny'], matchResources: { namespaceSelector } },
      },
    );
    const trial = { pods: ['run', 'trial'], jobs: ['create', 'job', 'trial'] }[resources[0] ?? ''] ?? [];
    await until('the policy to be in force', async () => {
      const { stderr } = await operator.kubernetes.kubectl([...trial, '--image=x', '--namespace', namespace, '--dry-run=server']);
      return stderr.includes(message);
    });
  },
  cure: () => operator.kubectl('delete', 'validatingadmissionpolicybinding', name),
});
const quota = (hard: object) => ({
  async arrange(namespace: string) {
    await operator.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none', namespace }, spec: { hard } });
    const counted = ['get', 'quota', 'none', '--namespace', namespace, '--output=jsonpath={.status.hard}'];
    await until('the quota to be in force', async () => (await operator.kubectl(...counted)) !== '');
  },
  cure: (namespace: string) => operator.kubectl('delete', 'quota', 'none', '--namespace', namespace),
});
/** The node whose kubelet is this test. */
const BY_HAND = { 'filemill.io/pool': 'by-hand' };
const waits = (reason: string, message: string) => ({
  spec: { nodeSelector: BY_HAND },
  waiting: { reason, message },
  cure: (namespace: string, pool: string) => eachPod(namespace, pool, () => ({ phase: 'Running', containerStatuses: null })),
});

const CAUSES: Readonly<Record<string, Cause>> = {
  'no-node': {
    reason: 'Unschedulable',
    says: /No node accepts its workers: .*node affinity\/selector/,
    spec: { nodeSelector: { 'filemill.io/pool': 'media' } },
    cure: () => operator.kubernetes.addNodes('media', 1),
  },
  'no-image': {
    reason: 'ImagePullFailed',
    says: /image cannot be pulled: .*not found/,
    ...waits('ErrImagePull', 'filemill/image:test: not found'),
  },
  'no-image-yet': {
    reason: 'ImagePullFailed',
    says: /image cannot be pulled: Back-off/,
    ...waits('ImagePullBackOff', 'Back-off pulling image'),
  },
  'no-secret': {
    reason: 'CredentialsMissing',
    says: /secret "nats" not found/,
    ...waits('CreateContainerConfigError', 'secret "nats" not found'),
  },
  'pod-quota': { reason: 'PodRefused', says: /exceeded quota: none/, ...quota({ 'count/pods': '0' }) },
  'job-quota': { reason: 'JobRefused', says: /exceeded quota: none/, ...quota({ 'count/jobs.batch': '0' }) },
  'limit-range': {
    reason: 'PodRefused',
    says: /maximum cpu usage per Container is 1/,
    spec: { resources: { limits: { cpu: '2' } } },
    arrange: (namespace) =>
      operator.create({
        apiVersion: 'v1',
        kind: 'LimitRange',
        metadata: { name: 'small', namespace },
        spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] },
      }),
    // The pool is what gives way: its new template is tried at once.
    cure: (namespace, name) =>
      applyPool(operator.kubernetes.kube, aPool(name, { ...BUSY, resources: { limits: { cpu: '1' } } }, { namespace })),
  },
  'pod-policy': { reason: 'PodRefused', says: /no pods on Sundays/, ...refusing('pods', [''], ['pods'], 'no pods on Sundays') },
  'job-policy': { reason: 'JobRefused', says: /no jobs on Sundays/, ...refusing('jobs', ['batch'], ['jobs'], 'no jobs on Sundays') },
  'no-priority': {
    reason: 'PodRefused',
    says: /no PriorityClass with name high/,
    spec: { priorityClassName: 'high' },
    cure: () => operator.create({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'high' }, value: 1000 }),
  },
};
/** Each is held, looked at and cured. */
const NAMES = some(Object.entries(CAUSES), 3).map(([name]) => name);
const BUSY = { capacity: 4, targetWaitSeconds: 1 };
const ORDERS = 8;

/** Does a kubelet's part. @param status undefined: leaves the pod as it is */
async function eachPod(namespace: string, pool: string, status: (pod: Pod) => object | undefined): Promise<void> {
  const { kube } = operator.kubernetes;
  for await (const { items } of kube.pages<Pod>(PODS, { namespace, labelSelector: `filemill.io/pool=${pool}` }))
    for (const pod of items) {
      const next = pod.spec?.nodeName === undefined ? undefined : status(pod);
      if (next !== undefined) await kube.patch(PODS, pod.metadata, { status: next }, { subresource: 'status' });
    }
}

const held = (name: string) => {
  const { reason, waiting } = CAUSES[name] as Cause;
  return operator.poolIs(
    name,
    name,
    `is held: ${reason}`,
    async (pool) => {
      if (waiting !== undefined)
        await eachPod(name, name, ({ status }) =>
          status?.containerStatuses === undefined
            ? { containerStatuses: [{ name: 'worker', image: 'x', imageID: '', ready: false, restartCount: 0, state: { waiting } }] }
            : undefined,
        );
      return condition(pool, 'Degraded')?.reason === reason;
    },
    60_000,
  );
};
const uids = async (name: string) => (await jobsOf(operator.kubernetes.kube, name, name)).map(({ metadata }) => metadata.uid).toSorted();

/** What the metric says of every ToolchainPool, by the pool's name, which here is also the name of its namespace. */
async function degraded(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${operator.controller.url}/metrics`)).text();
  const lines = text.matchAll(/^filemill_pool_degraded\{pool="(.+)",pool_namespace="\1"\} (\d)$/gm);
  return new Map([...lines].map(([, pool = '', value]) => [pool, Number(value)]));
}

beforeAll(async () => {
  operator = await startOperator({ pools: [...NAMES, 'beside'], nodes: { image: 1, office: 1 } });
  const { kube } = operator.kubernetes;
  await kube.patch(NODES, { name: 'office-0' }, { metadata: { labels: { ...BY_HAND, 'filemill.io/fake': null } } });
  await Promise.all(
    NAMES.map(async (name) => {
      await operator.team(name);
      await CAUSES[name]?.arrange?.(name);
      await applyPool(kube, aPool(name, { ...BUSY, ...CAUSES[name]?.spec }, { namespace: name }));
      await operator.send(name, ORDERS);
    }),
  );
}, 120_000);
afterAll(() => operator?.stop());

describe('a pool is held by', () => {
  it.each(NAMES)('%s, and says why', async (name) => {
    const pool = await held(name);
    const { reason, says } = CAUSES[name] as Cause;
    expect(condition(pool, 'Degraded')).toMatchObject({ status: 'True', reason, message: expect.stringMatching(says) });
    expect(condition(pool, 'Ready')).toMatchObject({ status: 'False', reason, message: expect.stringMatching(says) });
    expect(condition(pool, 'CredentialsMissing')?.status).toBe(reason === 'CredentialsMissing' ? 'True' : 'False');
    expect(condition(pool, 'Progressing')).toMatchObject({ status: 'True', message: expect.stringMatching(/^0 of 4 workers serve; /) });
    expect((await degraded()).get(name)).toBe(1);
    expect(pool.status?.queued).toBe(ORDERS);
    // A node may still come; everything else waits for the operator.
    expect(await kstatus(pool)).toBe(reason === 'Unschedulable' ? 'InProgress' : 'Failed');
    await eventually(async () => (await operator.events(name, name)).includes(reason), 'an Event');
  });
});

describe('while pools are held', () => {
  it('no more Jobs are made, and refused ones are tried ever more seldom', async () => {
    const before = await Promise.all(NAMES.map(uids));
    await pause(6_000);
    expect(await Promise.all(NAMES.map(uids))).toEqual(before);
    for (const [index, name] of NAMES.entries())
      expect(before[index]?.length).toBeLessThanOrEqual(CAUSES[name]?.reason === 'JobRefused' ? 0 : 4);
    const attempts = (await operator.kubernetes.auditLog()).filter(
      ({ verb, objectRef, stage }) =>
        verb === 'create' && stage === 'ResponseComplete' && objectRef?.resource === 'jobs' && objectRef.namespace === 'job-policy',
    );
    // Up to four at first, then one at a time; the dry runs of the test are the administrator's.
    expect(attempts.filter(({ user }) => user.username.includes('filemill')).length).toBeLessThanOrEqual(7);
  });

  it('they stay so without a pause, with one Event for it', async () => {
    for (const name of NAMES) {
      const reasons = await operator.events(name, name);
      expect(reasons.filter((reason) => reason === 'Recovered')).toEqual([]);
      expect(reasons.filter((reason) => reason === CAUSES[name]?.reason).length).toBe(1);
    }
  });

  it('the metric stays 1 for each of them, whatever is tried meanwhile', async () => {
    const end = performance.now() + 8_000;
    for (; performance.now() < end; await pause(200)) {
      const now = await degraded();
      expect(NAMES.map((name) => [name, now.get(name)])).toEqual(NAMES.map((name) => [name, 1]));
    }
  });

  it('another pool is served', async () => {
    await operator.team('beside');
    await applyPool(operator.kubernetes.kube, aPool('beside', BUSY, { namespace: 'beside' }));
    await operator.send('beside', 10);
    await eventually(() => operator.isQuiet('beside'), 'its orders are done', 30_000);
  });
});

describe('a pool goes on by itself when there is', () => {
  beforeAll(async () => {
    await Promise.all(NAMES.map((name) => CAUSES[name]?.cure(name, name)));
  });

  it.each(NAMES)('an end to %s', async (name) => {
    await operator.poolIs(
      name,
      name,
      'has recovered',
      async (now) => {
        // Further pods of its come to the same node.
        if (CAUSES[name]?.waiting !== undefined)
          await eachPod(name, name, ({ status }) => (status?.phase === 'Pending' ? { phase: 'Running' } : undefined));
        return (
          (await operator.isQuiet(name)) &&
          condition(now, 'Ready')?.status === 'True' &&
          condition(now, 'Degraded')?.status === 'False' &&
          condition(now, 'CredentialsMissing')?.status === 'False' &&
          // Workers of the last orders may still be ending.
          (await kstatus(now)) === 'Current'
        );
      },
      100_000,
    );
    expect((await degraded()).get(name)).toBe(0);
    await operator.kubectl('wait', `tp/${name}`, '--namespace', name, '--for=condition=Ready', '--timeout=10s');
    await eventually(async () => (await operator.events(name, name)).includes('Recovered'), 'an Event');
  });
});
