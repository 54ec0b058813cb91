/** A pool that asks for a device, on a real API server and its scheduler: its pods go where a node offers one, and wait where none is left. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeObject, NODES, PODS } from '../../src/kube/resource.ts';
import { eventually } from '../kit/api/wire.ts';
import { aPool, applyPool } from '../kit/controller/controller.ts';
import { type Operator, startOperator } from '../kit/controller/operator.ts';

interface Pod extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly nodeName?: string;
    readonly containers: readonly { readonly resources: object }[];
  };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[] };
}

const namespace = 'devices';
/** A name of no vendor: the scheduler counts whatever name a device plugin gives. */
const DEVICE = 'example.com/accelerator';
const TAINT = { key: DEVICE, value: 'present', effect: 'NoSchedule' };
let operator: Operator;

/** As a device plugin has the kubelet say it. */
const offer = (node: string, count: number) => {
  const offered = { [DEVICE]: String(count) };
  const { kube } = operator.kubernetes;
  return kube.patch(NODES, { name: node }, { status: { capacity: offered, allocatable: offered } }, { subresource: 'status' });
};

async function podsOf(pool: string): Promise<readonly Pod[]> {
  for await (const { items } of operator.kubernetes.kube.pages<Pod>(PODS, { namespace, labelSelector: `filemill.io/pool=${pool}` }))
    return items;
  return [];
}
const placedOf = async (pool: string) => (await podsOf(pool)).flatMap(({ spec }) => spec.nodeName ?? []);
const waitingFor = ({ status }: Pod) => status.conditions?.find(({ reason }) => reason === 'Unschedulable')?.message;

beforeAll(async () => {
  operator = await startOperator({ pools: ['fast', 'plain', 'claims'], nodes: { image: 2 } });
  await operator.team(namespace);
  const runtime = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'accelerated' }, handler: 'accelerated' };
  await operator.create(runtime);
  await operator.kubernetes.kube.patch(NODES, { name: 'image-0' }, { spec: { taints: [TAINT] } });
  await offer('image-0', 2);
}, 120_000);
afterAll(() => operator?.stop());

describe('a pool that asks for a device', () => {
  const resources = { requests: { cpu: '500m' }, limits: { [DEVICE]: '1' } };
  const tolerations = [{ key: DEVICE, operator: 'Exists', effect: 'NoSchedule' }];
  const spec = { toolchain: 'image', standby: 3, capacity: 3, resources, tolerations, runtimeClassName: 'accelerated' } as const;

  it('has as many workers as there are devices; the next one waits, and comes with the next device', { timeout: 90_000 }, async () => {
    await applyPool(operator.kubernetes.kube, aPool('fast', spec, { namespace }));
    await eventually(async () => (await placedOf('fast')).length === 2 && (await podsOf('fast')).some(waitingFor), 'one waits', 40_000);
    const pods = await podsOf('fast');
    for (const pod of pods) {
      expect(pod.spec).toMatchObject({ runtimeClassName: 'accelerated', tolerations: expect.arrayContaining(tolerations) });
      expect(pod.spec.containers[0]?.resources).toMatchObject({
        limits: resources.limits,
        requests: { ...resources.requests, ...resources.limits },
      });
    }
    expect(await placedOf('fast')).toEqual(['image-0', 'image-0']);
    expect(pods.map(waitingFor).filter(Boolean)).toEqual([expect.stringContaining(`Insufficient ${DEVICE}`)]);
    await operator.poolIs(namespace, 'fast', 'it says what it waits for', ({ status }) =>
      (status?.conditions ?? []).some(({ reason, message }) => reason === 'Unschedulable' && message.includes(DEVICE)),
    );

    await offer('image-0', 3);
    await operator.poolIs(namespace, 'fast', 'all its workers', ({ status }) => status?.idle === 3, 40_000);
    expect(await placedOf('fast')).toEqual(['image-0', 'image-0', 'image-0']);
  });

  it('leaves one that asks for none to other nodes', async () => {
    await applyPool(operator.kubernetes.kube, aPool('plain', { toolchain: 'image', standby: 2 }, { namespace }));
    await operator.poolIs(namespace, 'plain', 'its workers', ({ status }) => status?.idle === 2);
    expect(await placedOf('plain')).toEqual(['image-1', 'image-1']);
  });

  it('goes to the node that has the device which it claims', async () => {
    const version = { apiVersion: 'resource.k8s.io/v1' };
    const driver = 'cards.example.com';
    await operator.create(
      {
        ...version,
        kind: 'DeviceClass',
        metadata: { name: 'card' },
        spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
      },
      // As the driver on the node publishes it.
      {
        ...version,
        kind: 'ResourceSlice',
        metadata: { name: 'image-1-cards' },
        spec: {
          driver,
          nodeName: 'image-1',
          pool: { name: 'image-1', generation: 1, resourceSliceCount: 1 },
          devices: [{ name: 'card-0' }],
        },
      },
      {
        ...version,
        kind: 'ResourceClaimTemplate',
        metadata: { name: 'card', namespace },
        spec: { spec: { devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'card' } }] } } },
      },
    );
    const resourceClaims = [{ name: 'card', resourceClaimTemplateName: 'card' }];
    const claims = [{ name: 'card', request: 'one' }];
    const claimed = { toolchain: 'image', standby: 2, capacity: 2, resourceClaims, resources: { claims } } as const;
    await applyPool(operator.kubernetes.kube, aPool('claims', claimed, { namespace }));
    // The first may have waited, too, for its claim to be made.
    const isSettled = async () => (await placedOf('claims')).length === 1 && (await podsOf('claims')).filter(waitingFor).length === 1;
    await eventually(isSettled, 'there is no device for the second', 30_000);
    for (const pod of await podsOf('claims')) expect(pod.spec).toMatchObject({ resourceClaims, containers: [{ resources: { claims } }] });
    expect(await placedOf('claims')).toEqual(['image-1']);
  });
});
