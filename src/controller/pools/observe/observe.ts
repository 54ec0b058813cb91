/** Combines what the caches, NATS and the workers report of a pool into one observation for `decide`. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { WorkerPresence } from '../../../pools/workers.ts';
import { jobName } from '../apply/template.ts';
import { LONGEST_MS } from '../decide/back-off.ts';
import type { Memory } from '../memory.ts';
import { GUARDS, isOf, type Job, LABEL, type Pod } from './objects.ts';
import type { Demand, Observation, PoolSettings, Trouble, Worker } from './observation.ts';
import { orphansAmong } from './orphans.ts';
import { type Heartbeat, workerStateOf } from './worker-state.ts';

/** After this long without a pod, the controller looks for an Event that says why, ms. */
export const PODLESS_MS = 10_000;
/** A worker that fails within this time failed at its start, even if its heartbeats were missed; one that lives longer works, ms. */
const EARLY_MS = 60_000;

export interface PoolObjects {
  readonly pool: ToolchainPool;
  readonly jobs: readonly Job[];
  readonly podOf: (job: Job) => Pod | undefined;
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

/** Also records in `memory` when each worker was first observed, and how it started and ended. */
export function observe(objects: PoolObjects, memory: Memory): Observation {
  const { pool, jobs, now, demand, template, enginesKnown } = objects;
  const [ours, others] = [jobs.filter((job) => isOf(job, pool)), jobs.filter((job) => !isOf(job, pool))];
  const there = new Set(ours.map(({ metadata }) => metadata.uid));
  for (const uid of memory.workers.keys()) if (!there.has(uid)) memory.workers.delete(uid);
  const known = new Set(jobs.flatMap(({ metadata }) => metadata.uid ?? []));
  const orphans = orphansAmong(objects.pods, known, objects.heartbeats, memory, now);
  const workers = [...ours.map((job) => observeWorker(objects, memory, job)), ...orphans];
  for (const [slot, until] of memory.blocked) if (until < now) memory.blocked.delete(slot);
  const troubles = [memory.startFailures, memory.earlyDeaths, memory.jobRefusals].flatMap((backOff) => backOff.active(template) ?? []);
  return {
    now,
    pool: settingsOf(pool),
    demand,
    serviceMs: memory.service.mean(),
    enginesKnown,
    workers,
    foreignSlots: [...others.map(slotOf), ...memory.blocked.keys()],
    history: memory.peaks.all(),
    contender: memory.contender,
    backOff: troubles.toSorted((a, b) => b.until - a.until)[0],
  };
}

function observeWorker({ podOf, heartbeats, listening, demand, template, silentMs, now }: PoolObjects, memory: Memory, job: Job): Worker {
  const { uid = '', name, labels = {} } = job.metadata;
  const pod = podOf(job);
  const presence = pod === undefined ? undefined : heartbeats.get(pod.metadata.name);
  const known = memory.workers.get(uid) ?? { firstSeen: now, listening, sentHeartbeat: false, proved: false, counted: false };
  memory.workers.set(uid, known);
  const createdAt = Date.parse(job.metadata.creationTimestamp ?? '');
  if (presence !== undefined) {
    if (!known.sentHeartbeat) memory.startFailures.succeeded(labels[LABEL.template] ?? '');
    known.sentHeartbeat = true;
    if (!known.proved && (presence.ended > 0 || now - createdAt > EARLY_MS)) {
      known.proved = true;
      memory.earlyDeaths.succeeded(labels[LABEL.template] ?? '');
    }
    memory.service.note(presence.worker, presence);
  }
  const refusal = now - known.firstSeen > PODLESS_MS ? memory.refusal?.message : undefined;
  // While NATS is unreachable, missing heartbeats prove nothing.
  const isSilent = presence === undefined && listening && demand !== undefined && pod?.status?.phase === 'Running';
  known.silentSince = isSilent ? (known.silentSince ?? now) : undefined;
  const silence = known.silentSince !== undefined && now - known.silentSince >= silentMs ? silenceOf(pod, silentMs) : undefined;
  const state = workerStateOf(job, pod, heartbeatOf(presence, known.sentHeartbeat, listening), { refusal, silence });
  if (state.state === 'failed' && state.disrupted !== true && !known.counted) {
    known.counted = true;
    // The node's clock may be wrong, so clamp: a worker ends after it was created and before now.
    const endedAt = Math.min(now, Math.max(state.endedAt ?? now, createdAt || 0));
    const isRecent = labels[LABEL.template] === template && endedAt > now - LONGEST_MS;
    const wasListening = known.listening || endedAt - createdAt < EARLY_MS;
    const failures = known.sentHeartbeat ? memory.earlyDeaths : memory.startFailures;
    if (isRecent && (known.sentHeartbeat ? endedAt - createdAt < EARLY_MS && !known.proved : wasListening))
      failures.failed(template, endedAt, failureOf(job, pod, known.sentHeartbeat, failures.failures() + 1), createdAt);
  }
  if (presence !== undefined && (state.state === 'failed' || state.state === 'succeeded')) memory.service.forget(presence.worker);
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
function failureOf(job: Job, pod: Pod | undefined, sentHeartbeat: boolean, inARow: number): Trouble {
  const { exitCode, reason = 'no reason given' } = pod?.status?.containerStatuses?.[0]?.state?.terminated ?? {};
  const how = exitCode === undefined ? reason : `exit code ${exitCode}, ${reason}`;
  const who = inARow === 1 ? 'A worker' : `${inARow} workers in a row`;
  const when = sentHeartbeat ? 'soon after its first heartbeat without finishing a conversion' : 'before the first heartbeat';
  const message = `${who} ended ${when}; the last one: ${how}. Its Job is kept: see kubectl logs job/${job.metadata.name}`;
  return { reason: 'WorkersFail', message };
}

/** Takes the slot from the Job's name, not only from its label: two Jobs cannot share a name. */
export function slotOf({ metadata }: Job): number {
  const slot = Number(metadata.labels?.[LABEL.slot] ?? -1);
  const pool = metadata.labels?.[LABEL.pool] ?? '';
  return metadata.name === jobName(pool, slot) ? slot : -1;
}

function settingsOf({ spec }: ToolchainPool): PoolSettings {
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
