/** Pods of a pool's workers whose Jobs have gone without them: they take orders, count against the capacity, and are asked to leave. */
import type { WorkerPresence } from '../../../pools/registry.ts';
import type { PoolMemory } from '../memory.ts';
import type { Pod } from '../objects.ts';
import type { ObservedWorker } from '../observation.ts';
import { jobUidOf } from './live-jobs.ts';
import type { PoolObjects } from './seen.ts';

/** The pod watch may be ahead of the Job watch, and a deleted Job's pod follows a moment later, ms. */
const SETTLED_MS = 10_000;

export function podsWithoutJobs({ pods, jobs }: Pick<PoolObjects, 'pods' | 'jobs'>): readonly Pod[] {
  const uids = new Set(jobs.flatMap(({ metadata }) => metadata.uid ?? []));
  return pods.filter(
    (pod) =>
      !uids.has(jobUidOf(pod)) &&
      pod.metadata.deletionTimestamp === undefined &&
      (pod.status?.phase === 'Running' || pod.status?.phase === 'Pending'),
  );
}

export function orphansAmong(objects: PoolObjects, { orphanSince }: Pick<PoolMemory, 'orphanSince'>): readonly ObservedWorker[] {
  const { heartbeats, now } = objects;
  return podsWithoutJobs(objects).flatMap(({ metadata: { name, uid = '' } }) => {
    return now - (orphanSince(uid) ?? now) < SETTLED_MS ? [] : workerOf(name, uid, heartbeats.get(name));
  });
}

/** Counts as outdated, so that a rollout retires it; it is never removed, because it has no Job. */
function workerOf(pod: string, uid: string, presence: WorkerPresence | undefined): ObservedWorker {
  const silence = { reason: 'WorkersSilent', message: `The pod ${pod} belongs to no Job and sends no heartbeat: delete it` } as const;
  return {
    name: pod,
    uid,
    slot: -1,
    pod,
    ...(presence === undefined
      ? { state: 'silent', trouble: silence }
      : { state: presence.state === 'idle' || presence.state === 'busy' ? presence.state : 'draining' }),
    current: false,
    busyMs: (presence?.busySeconds ?? 0) * 1000,
    guarded: false,
  };
}
