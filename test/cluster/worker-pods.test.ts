/** Pods of workers as the API server takes them: restricted, on the nodes that the pool asks for, and left alone while they are at long work. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeObject, PODS } from '../../src/kube/resource.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool, type Job, jobsOf, type Pool } from '../kit/controller/controller.ts';
import { type Operator, startOperator } from '../kit/controller/operator.ts';

interface Pod extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly nodeName?: string;
    readonly containers: readonly Readonly<Record<string, unknown>>[];
    readonly volumes: readonly Readonly<Record<string, unknown>>[];
  };
}

const namespace = 'strict';
const GUARDS = { 'karpenter.sh/do-not-disrupt': 'true', 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' };
/** What one order takes, ms: the mark comes after ten seconds. */
const LONG_MS = 14_000;
let operator: Operator;

beforeAll(async () => {
  operator = await startOperator({
    pools: ['plain', 'gpu', 'added', 'long'],
    nodes: { image: 2, gpu: 1 },
    serviceMs: (pool) => (pool === 'long' ? LONG_MS : 50),
  });
  await operator.team(namespace, { 'pod-security.kubernetes.io/enforce': 'restricted' });
  await operator.create(
    { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'gvisor' }, handler: 'runsc' },
    { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'bulk' }, value: 1_000 },
  );
}, 120_000);
afterAll(() => operator?.stop());

async function workerOf(pool: Pool): Promise<{ readonly job: Job; readonly pod: Pod }> {
  const { name } = await applyPool(operator.kubernetes.kube, pool).then(({ metadata }) => metadata);
  await operator.poolIs(namespace, name, 'a worker', ({ status }) => status?.idle === 1);
  const [job] = await jobsOf(operator.kubernetes.kube, name, namespace);
  for await (const { items } of operator.kubernetes.kube.pages<Pod>(PODS, { namespace, labelSelector: `filemill.io/pool=${name}` }))
    if (job !== undefined && items[0] !== undefined) return { job, pod: items[0] };
  throw new Error(`${name} has no worker`);
}
const marks = async (pod: string) => {
  const { annotations = {} } = (await operator.kubernetes.kube.get<Pod>(PODS, { name: pod, namespace })).metadata;
  return Object.keys(GUARDS).flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]]));
};

describe('the pod of a worker', () => {
  it('is taken where only restricted ones are', async () => {
    const level = await operator.kubectl('get', 'namespace', namespace, '--output=jsonpath={.metadata.labels}');
    expect(level).toContain('"pod-security.kubernetes.io/enforce":"restricted"');
    const refused = await operator.kubernetes.kubectl(['run', 'loose', '--image=x', '--namespace', namespace, '--dry-run=server']);
    expect(refused.stderr).toContain('violates PodSecurity "restricted:latest"');

    const { pod } = await workerOf(aPool('plain', { standby: 1, workDirSize: '2Gi' }, { namespace }));
    expect(pod.spec['securityContext']).toEqual({
      runAsNonRoot: true,
      runAsUser: 10_001,
      runAsGroup: 10_001,
      fsGroup: 10_001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.spec.containers.map(({ securityContext }) => securityContext)).toEqual([
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    ]);
    // No MEMORY_LIMIT: without a limit the kubelet would fill in the memory of the node.
    expect(pod.spec.containers.flatMap(({ env }) => env)).toEqual([
      expect.objectContaining({ name: 'WORKER_NAME' }),
      expect.objectContaining({ name: 'SETTINGS' }),
      { name: 'WORK_DIR_LIMIT', value: String(2 * 2 ** 30) },
    ]);
    expect(pod.spec['automountServiceAccountToken']).toBe(false);
    expect(pod.spec.containers[0]?.['terminationMessagePolicy']).toBe('FallbackToLogsOnError');
    expect(pod.metadata.annotations).toMatchObject({ 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': 'work' });
    expect(pod.metadata.labels).toMatchObject({
      'app.kubernetes.io/name': 'filemill',
      'app.kubernetes.io/instance': 'plain',
      'app.kubernetes.io/component': 'worker',
      'app.kubernetes.io/part-of': 'filemill',
      'app.kubernetes.io/managed-by': 'filemill-controller',
    });
    // No token among them: what a worker may write to, and its credentials for NATS.
    expect(pod.spec.volumes).toEqual([
      { name: 'work', emptyDir: { sizeLimit: '2Gi' } },
      { name: 'nats', secret: { secretName: 'nats', defaultMode: 0o440, optional: true } },
    ]);
    expect(pod.spec.containers[0]?.['volumeMounts']).toEqual([
      { name: 'work', mountPath: '/work' },
      { name: 'nats', mountPath: '/etc/filemill/nats', readOnly: true },
    ]);
    expect(pod.spec['hostNetwork'] ?? pod.spec['hostPID'] ?? pod.spec['hostIPC'] ?? pod.spec['shareProcessNamespace']).toBeUndefined();
  });

  it('has what its pool asks for, and lands on the node that has it', async () => {
    const resources = { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi', 'nvidia.com/gpu': '1' } };
    const spread = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'filemill.io/pool': 'gpu' } },
    };
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }] }],
        },
      },
    };
    const spec = {
      standby: 1,
      resources,
      workDirSize: '6Gi',
      nodeSelector: { 'filemill.io/pool': 'gpu' },
      tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }],
      topologySpreadConstraints: [spread],
      affinity,
      runtimeClassName: 'gvisor',
      priorityClassName: 'bulk',
      terminationGraceSeconds: 300,
      imagePullPolicy: 'Never',
      imagePullSecrets: [{ name: 'registry' }],
    };
    const { job, pod } = await workerOf(aPool('gpu', spec, { namespace, labels: { 'kueue.x-k8s.io/queue-name': 'batch', team: 'ours' } }));
    expect(pod.spec.nodeName).toBe('gpu-0');
    expect(pod.spec.containers[0]).toMatchObject({ image: 'filemill/image:test', imagePullPolicy: 'Never' });
    expect(pod.spec.containers[0]?.['resources']).toEqual({
      // What it may write on its node's disk is asked for too.
      requests: { ...resources.requests, 'nvidia.com/gpu': '1', 'ephemeral-storage': '6Gi' },
      limits: resources.limits,
    });
    // The kubelet fills in the limit, of which the worker gives each conversion its share.
    expect(pod.spec.containers[0]?.['env']).toContainEqual({
      name: 'MEMORY_LIMIT',
      valueFrom: { resourceFieldRef: { containerName: 'worker', resource: 'limits.memory', divisor: '1' } },
    });
    expect(pod.spec.containers[0]?.['env']).toContainEqual({ name: 'WORK_DIR_LIMIT', value: String(6 * 2 ** 30) });
    expect(pod.spec).toMatchObject({
      restartPolicy: 'Never',
      nodeSelector: spec.nodeSelector,
      affinity,
      topologySpreadConstraints: [spread],
      runtimeClassName: 'gvisor',
      priorityClassName: 'bulk',
      priority: 1_000,
      terminationGracePeriodSeconds: 300,
      imagePullSecrets: spec.imagePullSecrets,
    });
    const lost = (taint: string) => ({
      key: `node.kubernetes.io/${taint}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 30,
    });
    expect(pod.spec['tolerations']).toEqual(expect.arrayContaining([...spec.tolerations, lost('not-ready'), lost('unreachable')]));

    // What Kueue queues by goes with the Job; other labels of a pool are its owner's own affair.
    expect(job.metadata.labels).toMatchObject({ 'kueue.x-k8s.io/queue-name': 'batch', 'filemill.io/pool': 'gpu' });
    expect(job.metadata.labels).not.toHaveProperty('team');
    const { uid } = (await operator.pool(namespace, 'gpu')).metadata;
    expect(job.metadata.ownerReferences).toEqual([
      { apiVersion: 'filemill.io/v1alpha1', kind: 'ToolchainPool', name: 'gpu', uid, controller: true, blockOwnerDeletion: false },
    ]);
    expect(job.spec).toMatchObject({ backoffLimit: 0, completions: 1, parallelism: 1, ttlSecondsAfterFinished: 86_400 });
    expect(job.spec).not.toHaveProperty('activeDeadlineSeconds');
  });

  it('has what its pool adds to it, beside what makes it a worker', async () => {
    const template = {
      metadata: { labels: { team: 'press' }, annotations: { 'example.org/cost-centre': '42' } },
      spec: {
        serviceAccountName: 'fetcher',
        volumes: [{ name: 'fonts', configMap: { name: 'fonts', optional: true } }],
        containers: [
          {
            name: 'worker',
            env: [
              { name: 'TZ', value: 'Europe/Vienna' },
              { name: 'HTTPS_PROXY', valueFrom: { secretKeyRef: { name: 'proxy', key: 'url', optional: true } } },
            ],
            volumeMounts: [{ name: 'fonts', mountPath: '/usr/share/fonts/ours', readOnly: true }],
          },
        ],
      },
    };
    await operator.kubectl('create', 'serviceaccount', 'fetcher', '--namespace', namespace);
    const { pod } = await workerOf(aPool('added', { standby: 1, template }, { namespace }));
    expect(pod.metadata.labels).toMatchObject({ team: 'press', 'filemill.io/pool': 'added', 'app.kubernetes.io/name': 'filemill' });
    expect(pod.metadata.annotations).toMatchObject({
      'example.org/cost-centre': '42',
      'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': 'work',
    });
    expect(pod.spec).toMatchObject({ serviceAccountName: 'fetcher', automountServiceAccountToken: false });
    expect(pod.spec.volumes.map(({ name }) => name)).toEqual(['work', 'nats', 'fonts']);
    const [container] = pod.spec.containers;
    expect(container?.['env']).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'SETTINGS' }), ...(template.spec.containers[0]?.env ?? [])]),
    );
    expect(container?.['volumeMounts']).toEqual(
      expect.arrayContaining([{ name: 'fonts', mountPath: '/usr/share/fonts/ours', readOnly: true }]),
    );
    expect(container?.['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });

    // Labels are part of the template: a change of them alone makes new workers.
    const before = pod.metadata.labels?.['filemill.io/template'];
    await applyPool(
      operator.kubernetes.kube,
      aPool('added', { standby: 1, template: { metadata: { labels: { team: 'print' } } } }, { namespace }),
    );
    await eventually(
      async () => {
        const pods = await operator.kubectl(
          'get',
          'pods',
          '--namespace',
          namespace,
          '--selector=filemill.io/pool=added,team=print',
          '--output=json',
        );
        return (JSON.parse(pods) as { items: Pod[] }).items.some(({ metadata }) => metadata.labels?.['filemill.io/template'] !== before);
      },
      'a new worker has the new label',
      40_000,
    );
  });

  it('is not to be evicted while its worker has been at an order for long, and may be again when that is done', async () => {
    const { pod } = await workerOf(aPool('long', { standby: 1, capacity: 1 }, { namespace }));
    await operator.send('long', 1);
    const begun = Date.now();
    await eventually(async () => (await marks(pod.metadata.name)).length > 0, 'the marks', 30_000);
    expect(await marks(pod.metadata.name)).toEqual(Object.entries(GUARDS));
    // Short work is done sooner than a mark is written.
    expect(Date.now() - begun).toBeGreaterThan(9_000);
    await eventually(() => operator.isQuiet('long'), 'the order is done', 30_000);
    await eventually(async () => (await marks(pod.metadata.name)).length === 0, 'the marks are gone', 15_000);
  });
});
