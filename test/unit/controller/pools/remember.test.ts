/** What is remembered of workers over many reconciliations: the totals in their heartbeats are counted once. */
import { expect, it } from 'vitest';
import { ToolchainPool } from '../../../../src/contracts/kubernetes/toolchain-pool.ts';
import { newMemory } from '../../../../src/controller/pools/memory.ts';
import { jobName, type KubeJob, LABEL, type Pod } from '../../../../src/controller/pools/objects.ts';
import type { PoolObjects } from '../../../../src/controller/pools/observe/seen.ts';
import { remember } from '../../../../src/controller/pools/remember.ts';
import type { WorkerPresence } from '../../../../src/pools/registry.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const TEMPLATE = 'template';
const pool = ToolchainPool.parse({
  apiVersion: 'filemill.io/v1alpha1',
  kind: 'ToolchainPool',
  metadata: { name: 'image', namespace: 'team', uid: 'pool-uid' },
  spec: { toolchain: 'image', image: 'filemill/image:test', capacity: 8, natsSecretRef: { name: 'nats' } },
});

interface Worker {
  readonly slot: number;
  readonly uid?: string;
  readonly phase: 'Running' | 'Failed' | 'Succeeded';
  readonly ended: number;
  readonly busyMs: number;
}

function seen(now: number, ...workers: readonly Worker[]): PoolObjects {
  const podName = (slot: number) => `${jobName('image', slot)}-abcde`;
  const pods = new Map<string, Pod>();
  const jobs = workers.map(({ slot, uid = `uid-${slot}`, phase }): KubeJob => {
    const metadata = { namespace: 'team', creationTimestamp: new Date(NOW - 120_000).toISOString() };
    pods.set(uid, { metadata: { ...metadata, name: podName(slot), uid: `pod-of-${uid}` }, status: { phase } });
    const labels = { [LABEL.pool]: 'image', [LABEL.slot]: String(slot), [LABEL.template]: TEMPLATE };
    const owner = { apiVersion: 'filemill.io/v1alpha1', kind: 'ToolchainPool', name: 'image', uid: 'pool-uid', controller: true };
    return { metadata: { ...metadata, name: jobName('image', slot), uid, labels, ownerReferences: [owner] } };
  });
  const heartbeats = workers.map(({ slot, ended, busyMs }): WorkerPresence => {
    const worker = podName(slot);
    const common = {
      version: 1,
      pool: 'image',
      toolchain: 'image',
      state: 'idle',
      slots: 1,
      busy: 0,
      busySeconds: 0,
      engines: {},
    } as const;
    return { ...common, worker, taken: ended, ended, busyMs, receivedAt: now };
  });
  return {
    pool,
    jobs,
    podOf: ({ metadata }) => pods.get(metadata.uid ?? ''),
    pods: [...pods.values()],
    heartbeats: new Map(heartbeats.map((heartbeat) => [heartbeat.worker, heartbeat])),
    listening: true,
    demand: { pending: 0, inFlight: 0, oldestMs: undefined },
    template: TEMPLATE,
    enginesKnown: true,
    silentMs: 60_000,
    now,
  };
}

const fast = { slot: 0, phase: 'Running', ended: 30, busyMs: 3_000 } as const;
const slow = { slot: 1, ended: 10, busyMs: 37_000 } as const;

it.each(['Failed', 'Succeeded'] as const)(
  'the orders of a worker that has %s count once, however long its last heartbeat is known',
  (phase) => {
    const memory = newMemory();
    remember(seen(NOW, fast, { ...slow, phase: 'Running' }), memory);
    expect(memory.serviceMs()).toBe(1_000);
    // Its Job is kept, and its heartbeat known for 15 s, in which the pool is reconciled 75 times.
    for (let at = NOW; at < NOW + 15_000; at += 200) remember(seen(at, fast, { ...slow, phase }), memory);
    expect(memory.serviceMs()).toBe(1_000);
  },
);

it('the orders of a worker that is first seen when it has ended count, too', () => {
  const memory = newMemory();
  for (const at of [NOW, NOW + 200]) remember(seen(at, fast, { ...slow, phase: 'Failed' }), memory);
  expect(memory.serviceMs()).toBe(1_000);
  expect(memory.worker('uid-1')?.sentHeartbeat).toBe(true);
});

it('a worker is forgotten with its Job', () => {
  const memory = newMemory();
  remember(seen(NOW, fast, { ...slow, phase: 'Failed' }), memory);
  remember(seen(NOW + 1_000, fast), memory);
  remember(seen(NOW + 2_000, fast, { ...slow, uid: 'another', phase: 'Running' }), memory);
  expect(memory.serviceMs()).toBe((3_000 + 2 * 37_000) / (30 + 2 * 10));
});
