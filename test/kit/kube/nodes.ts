/** Machines that are not there, of the kinds that pools ask for: the scheduler believes in them. */

import type { Kube } from '../../../src/kube/connection/connect.ts';
import { isTransient } from '../../../src/kube/connection/error.ts';
import { type KubeObject, NODES } from '../../../src/kube/resource.ts';
import { until } from './until.ts';

export type NodeKind = 'image' | 'media' | 'office' | 'gpu';

interface Node extends KubeObject {
  readonly spec: { readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[] };
  readonly status: object;
}

/** kwok manages nodes that bear it. */
export const FAKE = 'filemill.io/fake';
const ROOM = { cpu: '32', memory: '128Gi', pods: '110', 'ephemeral-storage': '500Gi' };
const GPU = { 'nvidia.com/gpu': '4' };
const TAINT = { key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' };
/** At once: the API server is on this machine. */
const TOGETHER = 16;

/** Resolves when pods can be scheduled to them. @returns their names */
export async function addNodes(kube: Kube, kind: NodeKind, count: number, first: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `${kind}-${first + index}`);
  for (let from = 0; from < count; from += TOGETHER)
    await Promise.all(names.slice(from, from + TOGETHER).map((name) => kube.create(NODES, node(name, kind))));
  const missing = new Set(names);
  await until(`${count} ${kind} nodes to be ready`, async () => {
    for await (const { items } of kube.pages<Node>(NODES, { labelSelector: `filemill.io/pool=${kind}` }))
      for (const { metadata, spec } of items)
        if (spec.taints?.some(({ key }) => key.startsWith('node.kubernetes.io/')) !== true) missing.delete(metadata.name);
    return missing.size === 0;
  });
  return names;
}

/** What a kubelet says of itself when it registers; nothing says it again, so a test decides when a node is lost. */
function node(name: string, kind: NodeKind): Node {
  const resources = kind === 'gpu' ? { ...ROOM, ...GPU } : ROOM;
  return {
    metadata: {
      name,
      labels: {
        'filemill.io/pool': kind,
        [FAKE]: 'true',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
      },
    },
    spec: { taints: kind === 'gpu' ? [TAINT] : [] },
    status: { ...condition('True'), capacity: resources, allocatable: resources, addresses: [{ type: 'Hostname', address: name }] },
  };
}

const condition = (ready: 'True' | 'False' | 'Unknown') => {
  const now = new Date().toISOString();
  return { conditions: [{ type: 'Ready', status: ready, reason: 'AsTheTestWants', lastHeartbeatTime: now, lastTransitionTime: now }] };
};

/** `Unknown` is a node that sends no heartbeats any more. */
export async function setReady(kube: Kube, name: string, ready: 'True' | 'False' | 'Unknown'): Promise<void> {
  await until(`node ${name} to be written`, async () => {
    try {
      await kube.patch(NODES, { name }, { status: condition(ready) }, { subresource: 'status' });
      return true;
    } catch (error) {
      if (isTransient(error)) return false;
      throw error;
    }
  });
}
