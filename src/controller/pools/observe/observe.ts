/** Combines what the caches, NATS and the workers report of a pool into one observation for `decide`. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { WorkerPresence } from '../../../pools/registry.ts';
import type { PoolMemory } from '../memory.ts';
import { GUARDS, isOf, type KubeJob, LABEL, type Pod, slotOf } from '../objects.ts';
import type { Observation, ObservedWorker, PoolScale, Trouble } from '../observation.ts';
import { orphansAmong } from './orphans.ts';
import type { PoolObjects } from './seen.ts';
import { type Heartbeat, type ObservedState, workerStateOf } from './worker-state.ts';

/** After this long without a pod, the controller looks for an Event that says why, ms. */
export const PODLESS_MS = 10_000;

/** What `observe` reads of the memory, which `remember` has brought up to date. */
type Remembered = Pick<
  PoolMemory,
  'worker' | 'orphanSince' | 'refusal' | 'serviceMs' | 'blockedSlots' | 'history' | 'contender' | 'backOff'
>;

/** Changes nothing. */
export function observe(objects: PoolObjects, memory: Remembered): Observation {
  const { pool, jobs, now, demand, template, enginesKnown } = objects;
  const [ours, others] = [jobs.filter((job) => isOf(job, pool)), jobs.filter((job) => !isOf(job, pool))];
  const hasReported = ours.some((job) => job.metadata.labels?.[LABEL.template] === template && presenceOf(objects, job) !== undefined);
  const reportedTemplate = hasReported ? template : pool.status?.reportedTemplate;
  return {
    now,
    pool: settingsOf(pool),
    demand,
    serviceMs: memory.serviceMs(),
    enginesKnown,
    reportedTemplate,
    enginesCurrent: reportedTemplate === template,
    workers: [...ours.map((job) => observeWorker(objects, memory, job)), ...orphansAmong(objects, memory)],
    foreignSlots: [...others.map(slotOf), ...memory.blockedSlots()],
    history: memory.history(),
    contender: memory.contender(),
    backOff: memory.backOff(template),
  };
}

/** The latest heartbeat of a Job's pod. */
export function presenceOf({ podOf, heartbeats }: PoolObjects, job: KubeJob): WorkerPresence | undefined {
  const pod = podOf(job);
  return pod === undefined ? undefined : heartbeats.get(pod.metadata.name);
}

/** The state of a Job's worker. */
export function stateOf(objects: PoolObjects, memory: Pick<PoolMemory, 'worker' | 'refusal'>, job: KubeJob): ObservedState {
  const { podOf, listening, silentMs, now } = objects;
  const pod = podOf(job);
  const { firstSeen = now, silentSince, sentHeartbeat = false } = memory.worker(job.metadata.uid ?? '') ?? {};
  const refusal = now - firstSeen > PODLESS_MS ? memory.refusal()?.message : undefined;
  const silence = silentSince !== undefined && now - silentSince >= silentMs ? silenceOf(pod, silentMs) : undefined;
  return workerStateOf(job, pod, heartbeatOf(presenceOf(objects, job), sentHeartbeat, listening), { refusal, silence, now });
}

function observeWorker(objects: PoolObjects, memory: Remembered, job: KubeJob): ObservedWorker {
  const { uid = '', name, labels = {} } = job.metadata;
  const pod = objects.podOf(job);
  const presence = presenceOf(objects, job);
  const stuckSince = memory.worker(uid)?.stuckSince;
  return {
    name,
    uid,
    slot: slotOf(job),
    pod: pod?.metadata.name,
    ...stateOf(objects, memory, job),
    current: labels[LABEL.template] === objects.template,
    ...(stuckSince !== undefined && { stuckMs: objects.now - stuckSince }),
    ...(presence?.unwell !== undefined && { unwell: `${presence.unwell.reason}: ${presence.unwell.message}` }),
    busyMs: (presence?.busySeconds ?? 0) * 1000,
    guarded: Object.entries(GUARDS).every(([key, value]) => pod?.metadata.annotations?.[key] === value),
  };
}

/** A worker that sent heartbeats before and sends none now is overdue, unless this process has only just subscribed. */
function heartbeatOf(presence: WorkerPresence | undefined, sentHeartbeat: boolean, listening: boolean): Heartbeat | undefined {
  if (presence !== undefined) return { state: presence.state, overdue: false };
  return sentHeartbeat && listening ? { state: 'idle', overdue: true } : undefined;
}

function silenceOf(pod: Pod | undefined, silentMs: number): Trouble {
  const name = pod?.metadata.name ?? '';
  const message = `The pod ${name} has run for ${Math.round(silentMs / 1000)} s without a heartbeat from its worker over NATS: see kubectl logs ${name}`;
  return { reason: 'WorkersSilent', message };
}

function settingsOf({ spec }: ToolchainPool): PoolScale {
  const { capacity, standby, paused, conversionsPerWorker, slots } = spec;
  return {
    capacity,
    // An autoscaler may lower the capacity below standby: capacity wins.
    standby: Math.min(standby, capacity),
    paused,
    conversionsPerWorker,
    slots,
    idleMs: spec.idleSeconds * 1000,
    targetWaitMs: spec.targetWaitSeconds * 1000,
  };
}
