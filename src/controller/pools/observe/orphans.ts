/** Pods of a pool's workers whose Jobs have gone without them: they take orders, count against the capacity, and are asked to leave. */
import type { WorkerPresence } from '../../../pools/registry.ts';
import type { PoolMemory } from '../memory.ts';
import { jobUidOf } from './live-jobs.ts';
import type { Pod } from './objects.ts';
import type { ObservedWorker } from './observation.ts';

/** The pod watch may be ahead of the Job watch, and a deleted Job's pod follows a moment later, ms. */
const SETTLED_MS = 10_000;

/** @param jobs uids of all Jobs @param now ms since the epoch */
export function orphansAmong(
  pods: readonly Pod[],
  jobs: ReadonlySet<string>,
  heartbeats: ReadonlyMap<string, WorkerPresence>,
  memory: PoolMemory,
  now: number,
): readonly ObservedWorker[] {
  const there = pods.filter(
    (pod) =>
      !jobs.has(jobUidOf(pod)) &&
      pod.metadata.deletionTimestamp === undefined &&
      (pod.status?.phase === 'Running' || pod.status?.phase === 'Pending'),
  );
  const uids = new Set(there.map(({ metadata }) => metadata.uid ?? ''));
  const known = memory.sawOrphans(uids, now);
  return there.flatMap(({ metadata: { name, uid = '' } }) => {
    return now - (known.get(uid) ?? now) < SETTLED_MS ? [] : workerOf(name, uid, heartbeats.get(name));
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
