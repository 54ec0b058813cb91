import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../src/kube/connection/connect.ts';
import { JOBS, type KubeObject, PODS } from '../../src/kube/resource.ts';
import { type Cluster, startKubernetes } from '../kit/kube/kubernetes.ts';
import { until } from '../kit/kube/until.ts';

interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
    readonly containerStatuses?: readonly { readonly state: { readonly waiting?: { readonly reason: string } } }[];
  };
}
interface Job extends KubeObject {
  readonly spec: object;
  readonly status?: { readonly succeeded?: number; readonly failed?: number };
}

const namespace = 'default';
let cluster: Cluster;
let kube: Kube;

/** A Job whose pods need nodes of this kind. */
const job = (name: string, kind: string, pod: object = {}, annotations: object = {}): Job => ({
  metadata: { name, namespace },
  spec: {
    backoffLimit: 0,
    template: {
      metadata: { annotations },
      spec: {
        restartPolicy: 'Never',
        nodeSelector: { 'filemill.io/pool': kind },
        containers: [{ name: 'worker', image: 'filemill/worker' }],
        ...pod,
      },
    },
  },
});

async function podOf(name: string): Promise<Pod | undefined> {
  for await (const { items } of kube.pages<Pod>(PODS, { namespace, labelSelector: `batch.kubernetes.io/job-name=${name}` }))
    return items[0];
  return undefined;
}

async function untilPod(name: string, what: string, holds: (pod: Pod) => boolean): Promise<Pod> {
  let pod: Pod | undefined;
  await until(`a pod of ${name} that ${what}`, async () => {
    pod = await podOf(name);
    return pod !== undefined && holds(pod);
  });
  return pod as Pod;
}

const runs = ({ status }: Pod) => status.phase === 'Running';

beforeAll(async () => {
  cluster = await startKubernetes({ nodes: { image: 2, media: 1, gpu: 1 } });
  kube = cluster.kube;
});

afterAll(() => cluster?.stop());

describe('a cluster of nodes that are not there', () => {
  it('runs a pod on a node of its pool, until the test says that it has ended', async () => {
    await kube.create(JOBS, job('ends', 'media'));
    const pod = await untilPod('ends', 'runs', runs);
    expect(pod.spec.nodeName).toBe('media-0');
    await kube.patch(PODS, pod.metadata, { status: { phase: 'Succeeded' } }, { subresource: 'status' });
    await until('the Job to know', async () => (await kube.get<Job>(JOBS, { name: 'ends', namespace })).status?.succeeded === 1);
  });

  it('fails a Job whose pod the test lets fail', async () => {
    await kube.create(JOBS, job('fails', 'media'));
    const pod = await untilPod('fails', 'runs', runs);
    await kube.patch(PODS, pod.metadata, { status: { phase: 'Failed' } }, { subresource: 'status' });
    await until('the Job to know', async () => (await kube.get<Job>(JOBS, { name: 'fails', namespace })).status?.failed === 1);
  });

  it('removes a pod with its Job', async () => {
    await kube.create(JOBS, job('goes', 'image'));
    await untilPod('goes', 'runs', runs);
    await kube.remove(JOBS, { name: 'goes', namespace });
    await until('the pod to go', async () => (await podOf('goes')) === undefined);
  });

  it('lets a pod that should linger wait for its test', async () => {
    await kube.create(JOBS, job('lingers', 'image', {}, { 'filemill.io/linger': 'yes' }));
    const pod = await untilPod('lingers', 'runs', runs);
    await kube.remove(PODS, pod.metadata);
    await untilPod('lingers', 'is being deleted', ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await kube.remove(PODS, pod.metadata, { gracePeriodSeconds: 0 });
    await until('it to go', async () => (await podOf('lingers'))?.metadata.uid !== pod.metadata.uid);
  });

  it('keeps a pod from the GPUs that does not tolerate their taint, and gives one that asks a GPU', async () => {
    await kube.create(JOBS, job('kept-off', 'gpu'));
    await untilPod('kept-off', 'cannot be scheduled', ({ status }) =>
      (status.conditions ?? []).some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable'),
    );
    const wants = {
      tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }],
      containers: [{ name: 'worker', image: 'filemill/worker', resources: { limits: { 'nvidia.com/gpu': 1 } } }],
    };
    await kube.create(JOBS, job('let-on', 'gpu', wants));
    expect((await untilPod('let-on', 'runs', runs)).spec.nodeName).toBe('gpu-0');
  });

  it('lets a pod wait for its image that is to', async () => {
    await kube.create(JOBS, job('stuck', 'image', {}, { 'filemill.io/stuck': 'ErrImagePull' }));
    const pod = await untilPod('stuck', 'waits', ({ status }) => status.containerStatuses?.[0]?.state.waiting !== undefined);
    expect(pod.status).toMatchObject({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull' } } }] });
  });

  it('loses a node with its pods, and has it back', async () => {
    const [name = ''] = await cluster.addNodes('office', 1);
    const tolerations = [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }];
    await kube.create(JOBS, job('lost', 'office', { tolerations }, { 'filemill.io/linger': 'yes' }));
    const pod = await untilPod('lost', 'runs', runs);
    await cluster.setNodeReady(name, 'Unknown');
    await untilPod('lost', 'is evicted', ({ metadata }) => metadata.uid === pod.metadata.uid && metadata.deletionTimestamp !== undefined);
    await cluster.setNodeReady(name, 'True');
    await kube.create(JOBS, job('back', 'office'));
    await untilPod('back', 'runs', runs);
  });
});
