/** Combines what the caches, NATS and the workers report of a pool into one observation for `decide`. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { WorkerPresence } from '../../../pools/registry.ts';
import { jobName } from '../apply/template.ts';
import type { PoolMemory } from '../memory.ts';
import { GUARDS, isOf, type KubeJob, LABEL, type Pod } from './objects.ts';
import type { Demand, Observation, ObservedWorker, PoolScale, Trouble } from './observation.ts';
import { orphansAmong } from './orphans.ts';
import { type Heartbeat, workerStateOf } from './worker-state.ts';

/** After this long without a pod, the controller looks for an Event that says why, ms. */
export const PODLESS_MS = 10_000;

export interface PoolObjects {
  readonly pool: ToolchainPool;
  readonly jobs: readonly KubeJob[];
  readonly podOf: (job: KubeJob) => Pod | undefined;
  /** All pods of the pool, including those without a Job. */
  readonly pods: readonly Pod[];
  /** By worker. */
  readonly heartbeats: ReadonlyMap<string, WorkerPresence>;
  /** Whether this process has been subscribed for long enough to have received a heartbeat of every worker. */
  readonly listening: boolean;
  readonly demand: Demand | undefined;
  /** Hash of the pool's current template. */
  readonly template: string;
  readonly enginesKnown: boolean;
  /** How long a pod may run without a heartbeat, ms. */
  readonly silentMs: number;
  readonly now: number;
}

/** Has `memory` record when each worker was first observed, and how it started and ended. */
export function observe(objects: PoolObjects, memory: PoolMemory): Observation {
  const { pool, jobs, now, demand, template, enginesKnown } = objects;
  const [ours, others] = [jobs.filter((job) => isOf(job, pool)), jobs.filter((job) => !isOf(job, pool))];
  memory.forgetGone(new Set(ours.flatMap(({ metadata }) => metadata.uid ?? [])), now);
  const known = new Set(jobs.flatMap(({ metadata }) => metadata.uid ?? []));
  const orphans = orphansAmong(objects.pods, known, objects.heartbeats, memory, now);
  const workers = [...ours.map((job) => observeWorker(objects, memory, job)), ...orphans];
  const hasReported = ours.some((job) => {
    const pod = objects.podOf(job);
    return job.metadata.labels?.[LABEL.template] === template && pod !== undefined && objects.heartbeats.has(pod.metadata.name);
  });
  const reportedTemplate = hasReported ? template : pool.status?.reportedTemplate;
  return {
    now,
    pool: settingsOf(pool),
    demand,
    serviceMs: memory.serviceMs(),
    enginesKnown,
    reportedTemplate,
    enginesCurrent: reportedTemplate === template,
    workers,
    foreignSlots: [...others.map(slotOf), ...memory.blockedSlots()],
    history: memory.history(),
    contender: memory.contender(),
    backOff: memory.backOff(template),
  };
}

function observeWorker(
  { podOf, heartbeats, listening, demand, template, silentMs, now }: PoolObjects,
  memory: PoolMemory,
  job: KubeJob,
): ObservedWorker {
  const { uid = '', name, labels = {} } = job.metadata;
  const pod = podOf(job);
  const presence = pod === undefined ? undefined : heartbeats.get(pod.metadata.name);
  const createdAt = Date.parse(job.metadata.creationTimestamp ?? '');
  const made = { createdAt, template: labels[LABEL.template] ?? '' };
  // While NATS is unreachable, missing heartbeats prove nothing.
  const isSilent = presence === undefined && listening && demand !== undefined && pod?.status?.phase === 'Running';
  const { firstSeen, silentSince } = memory.sawWorker(uid, now, { listening, isSilent });
  if (presence !== undefined) memory.heardWorker(uid, now, { ...presence, ...made });
  const sentHeartbeat = memory.worker(uid)?.sentHeartbeat === true;
  const refusal = now - firstSeen > PODLESS_MS ? memory.refusal()?.message : undefined;
  const silence = silentSince !== undefined && now - silentSince >= silentMs ? silenceOf(pod, silentMs) : undefined;
  const state = workerStateOf(job, pod, heartbeatOf(presence, sentHeartbeat, listening), { refusal, silence });
  if (state.state === 'failed' && state.disrupted !== true) {
    // The node's clock may be wrong, so clamp: a worker ends after it was created and before now.
    const endedAt = Math.min(now, Math.max(state.endedAt ?? now, createdAt || 0));
    const describe = (inARow: number) => failureOf(job, pod, sentHeartbeat, inARow);
    memory.workerFailed(uid, now, { ...made, endedAt, describe }, template);
  }
  if (presence !== undefined && (state.state === 'failed' || state.state === 'succeeded')) memory.workerEnded(presence.worker);
  return {
    name,
    uid,
    slot: slotOf(job),
    pod: pod?.metadata.name,
    ...state,
    current: labels[LABEL.template] === template,
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

/** A worker that ends before its first heartbeat cannot have been crashed by a file; several in a row that end soon after it probably were not either. */
function failureOf(job: KubeJob, pod: Pod | undefined, sentHeartbeat: boolean, inARow: number): Trouble {
  const { exitCode, reason = 'no reason given' } = pod?.status?.containerStatuses?.[0]?.state?.terminated ?? {};
  const how = exitCode === undefined ? reason : `exit code ${exitCode}, ${reason}`;
  const who = inARow === 1 ? 'A worker' : `${inARow} workers in a row`;
  const when = sentHeartbeat ? 'soon after its first heartbeat without finishing a conversion' : 'before the first heartbeat';
  const message = `${who} ended ${when}; the last one: ${how}. Its Job is kept: see kubectl logs job/${job.metadata.name}`;
  return { reason: 'WorkersFail', message };
}

/** Takes the slot from the Job's name, not only from its label: two Jobs cannot share a name. */
export function slotOf({ metadata }: KubeJob): number {
  const slot = Number(metadata.labels?.[LABEL.slot] ?? -1);
  const pool = metadata.labels?.[LABEL.pool] ?? '';
  return metadata.name === jobName(pool, slot) ? slot : -1;
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
