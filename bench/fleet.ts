/** Thousands of workers in one process: for each pod that runs on a fake node one that speaks and, where its pool works, takes orders. */
import { setTimeout as pause } from 'node:timers/promises';
import { PRESENCE_VERSION } from '../src/contracts/messages/presence.ts';
import type { Kube } from '../src/kube/connection/connect.ts';
import { startReflector } from '../src/kube/reflector.ts';
import { type KubeObject, PODS } from '../src/kube/resource.ts';
import type { Nats } from '../src/nats/connection.ts';
import { subscribe } from '../src/nats/hints.ts';
import { publishPresence } from '../src/pools/nats/workers.ts';
import type { Queue } from '../src/queue/queue.ts';
import { endPod } from '../test/kit/controller/pod-end.ts';

const POOL = 'filemill.io/pool';
const PRESENCE_MS = 5_000;
/** Of one order. */
const SERVICE_MS = 1_000;

export interface Fleet {
  /** Workers that speak. */
  readonly size: () => number;
  /** When each order was taken, of a pool: `performance.now()`. */
  readonly taken: (pool: string) => readonly number[];
  close(): Promise<void>;
}

interface Parts {
  readonly kube: Kube;
  readonly nats: Nats;
  readonly queue: Queue;
  readonly namespace: string;
  /** Orders that a worker of this pool takes before it ends; undefined: it only speaks. */
  readonly most: (pool: string) => number | undefined;
}

interface Pod extends KubeObject {
  readonly status?: { readonly phase?: string };
}

interface Member {
  readonly pool: string;
  readonly pod: string;
  readonly retired: AbortController;
  readonly timer: NodeJS.Timeout;
  taken: number;
  ended: number;
  holds: boolean;
}

export async function startFleet({ kube, nats, queue, namespace, most }: Parts): Promise<Fleet> {
  const members = new Map<string, Member>();
  const begun = new Set<string>();
  const starts = new Map<string, number[]>();
  const closing = new AbortController();

  const say = ({ pool, pod, retired, taken, ended, holds }: Member, drained = false) => {
    const leaves = retired.signal.aborted || taken >= (most(pool) ?? Number.POSITIVE_INFINITY);
    const state = drained ? 'drained' : leaves ? 'draining' : holds ? 'busy' : 'idle';
    const about = { version: PRESENCE_VERSION, pool, toolchain: 'image', worker: pod, engines: { sharp: '1' } };
    publishPresence(nats, { ...about, state, slots: 1, busy: Number(holds), taken, ended, busyMs: ended * SERVICE_MS, busySeconds: 0 });
  };

  const finish = (pod: string) => endPod(kube, { name: pod, namespace }, 0, closing.signal);

  async function work(member: Member): Promise<void> {
    const { pool, pod, retired, timer } = member;
    const stop = AbortSignal.any([retired.signal, closing.signal]);
    const limit = most(pool);
    say(member);
    if (limit === undefined) {
      if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
    }
    while (!stop.aborted && member.taken < (limit ?? 0)) {
      const delivery = await queue.pull(pool, ['interactive'], 2_000, stop).catch(() => pause(200, undefined));
      if (delivery === undefined) continue;
      starts.set(pool, [...(starts.get(pool) ?? []), performance.now()]);
      [member.taken, member.holds] = [member.taken + 1, true];
      say(member);
      await pause(SERVICE_MS);
      await delivery.done().catch(() => {});
      [member.ended, member.holds] = [member.ended + 1, false];
      say(member);
    }
    clearInterval(timer);
    say(member, true);
    if (!closing.signal.aborted) await finish(pod);
    members.delete(pod);
  }

  const unsubscribe = subscribe(nats, 'retire', '>', (name) => members.get(name.slice(name.indexOf('.') + 1))?.retired.abort());
  const pods = startReflector<Pod>({ kube, resource: PODS, namespace, labelSelector: POOL });
  const works: Promise<void>[] = [];
  pods.onChange((_, pod) => {
    if (pod === undefined || pod.status?.phase !== 'Running' || begun.has(pod.metadata.name)) return;
    const { name, labels = {} } = pod.metadata;
    begun.add(name);
    const member: Member = {
      ...{ pool: labels[POOL] ?? '', pod: name, retired: new AbortController(), taken: 0, ended: 0, holds: false },
      timer: setInterval(() => say(member), PRESENCE_MS),
    };
    members.set(name, member);
    works.push(work(member));
  });
  await pods.whenSynced();
  return {
    size: () => members.size,
    taken: (pool) => starts.get(pool) ?? [],
    async close() {
      closing.abort();
      unsubscribe();
      await pods.close();
      await Promise.allSettled(works);
    },
  };
}
