/** Everything known of a pool, put together for a decision. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { WorkerPresence } from '../../../pools/workers.ts';
import { jobName } from '../apply/template.ts';
import { LONGEST_MS } from '../decide/back-off.ts';
import type { Memory } from '../memory.ts';
import { GUARDS, isOf, type Job, LABEL, type Pod } from './objects.ts';
import { orphansAmong } from './orphans.ts';
import type { Demand, PoolSettings, Seen, Trouble, Worker } from './seen.ts';
import { type Heartbeat, workerStateOf } from './worker-state.ts';

/** Without a pod for longer than this, a Job is asked why, ms. */
export const PODLESS_MS = 10_000;
/** What fails this soon fails at its start, even if nobody listened then; and who lives for longer works, ms. */
const EARLY_MS = 60_000;

export interface PoolObjects {
  readonly pool: ToolchainPool;
  readonly jobs: readonly Job[];
  readonly podOf: (job: Job) => Pod | undefined;
  /** All of them, whatever Jobs they are of. */
  readonly pods: readonly Pod[];
  /** By worker. */
  readonly heartbeats: ReadonlyMap<string, WorkerPresence>;
  /** Whether all workers that are there have had the time to speak since this process began to listen. */
  readonly listening: boolean;
  readonly demand: Demand | undefined;
  /** The pool's present template. */
  readonly template: string;
  readonly enginesKnown: boolean;
  /** How long a pod may run without a word, ms. */
  readonly silentMs: number;
  readonly now: number;
}

/** Notes in `memory` what is seen for the first time. */
export function gather(objects: PoolObjects, memory: Memory): Seen {
  const { pool, jobs, now, demand, template, enginesKnown } = objects;
  const [ours, others] = [jobs.filter((job) => isOf(job, pool)), jobs.filter((job) => !isOf(job, pool))];
  const there = new Set(ours.map(({ metadata }) => metadata.uid));
  for (const uid of memory.workers.keys()) if (!there.has(uid)) memory.workers.delete(uid);
  const known = new Set(jobs.flatMap(({ metadata }) => metadata.uid ?? []));
  const orphans = orphansAmong(objects.pods, known, objects.heartbeats, memory, now);
  const workers = [...ours.map((job) => look(objects, memory, job)), ...orphans];
  for (const [slot, until] of memory.blocked) if (until < now) memory.blocked.delete(slot);
  const troubles = [memory.startFailures, memory.earlyDeaths, memory.jobRefusals].flatMap((backOff) => backOff.standing(template) ?? []);
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

function look({ podOf, heartbeats, listening, demand, template, silentMs, now }: PoolObjects, memory: Memory, job: Job): Worker {
  const { uid = '', name, labels = {} } = job.metadata;
  const pod = podOf(job);
  const presence = pod === undefined ? undefined : heartbeats.get(pod.metadata.name);
  const known = memory.workers.get(uid) ?? { firstSeen: now, heard: listening, spoke: false, proved: false, counted: false };
  memory.workers.set(uid, known);
  const madeAt = Date.parse(job.metadata.creationTimestamp ?? '');
  if (presence !== undefined) {
    if (!known.spoke) memory.startFailures.succeeded(labels[LABEL.template] ?? '');
    known.spoke = true;
    if (!known.proved && (presence.ended > 0 || now - madeAt > EARLY_MS)) {
      known.proved = true;
      memory.earlyDeaths.succeeded(labels[LABEL.template] ?? '');
    }
    memory.service.note(presence.worker, presence);
  }
  const refusal = now - known.firstSeen > PODLESS_MS ? memory.refusal?.message : undefined;
  // While NATS does not answer, silence tells nothing.
  const isSilent = presence === undefined && listening && demand !== undefined && pod?.status?.phase === 'Running';
  known.silentSince = isSilent ? (known.silentSince ?? now) : undefined;
  const silence = known.silentSince !== undefined && now - known.silentSince >= silentMs ? silenceOf(pod, silentMs) : undefined;
  const standing = workerStateOf(job, pod, heartbeatOf(presence, known.spoke, listening), { refusal, silence });
  if (standing.state === 'failed' && standing.disrupted !== true && !known.counted) {
    known.counted = true;
    // By the clock of its node, which may be wrong: it ended after it was made, and before now.
    const endedAt = Math.min(now, Math.max(standing.endedAt ?? now, madeAt || 0));
    const isNews = labels[LABEL.template] === template && endedAt > now - LONGEST_MS;
    const wasHeard = known.heard || endedAt - madeAt < EARLY_MS;
    const failures = known.spoke ? memory.earlyDeaths : memory.startFailures;
    if (isNews && (known.spoke ? endedAt - madeAt < EARLY_MS && !known.proved : wasHeard))
      failures.failed(template, endedAt, failureOf(job, pod, known.spoke, failures.failures() + 1), madeAt);
  }
  if (presence !== undefined && (standing.state === 'failed' || standing.state === 'succeeded')) memory.service.forget(presence.worker);
  return {
    name,
    uid,
    slot: slotOf(job),
    pod: pod?.metadata.name,
    ...standing,
    current: labels[LABEL.template] === template,
    ...(presence?.unwell !== undefined && { unwell: `${presence.unwell.reason}: ${presence.unwell.message}` }),
    busyMs: (presence?.busySeconds ?? 0) * 1000,
    guarded: Object.entries(GUARDS).every(([key, value]) => pod?.metadata.annotations?.[key] === value),
  };
}

/** One that spoke and is silent now is overdue, unless it is we who have only just begun to listen. */
function heartbeatOf(presence: WorkerPresence | undefined, spoke: boolean, listening: boolean): Heartbeat | undefined {
  if (presence !== undefined) return { state: presence.state, overdue: false };
  return spoke && listening ? { state: 'idle', overdue: true } : undefined;
}

function silenceOf(pod: Pod | undefined, silentMs: number): Trouble {
  const name = pod?.metadata.name ?? '';
  const message = `The pod ${name} has run for ${Math.round(silentMs / 1000)} s without a word from its worker over NATS: see kubectl logs ${name}`;
  return { reason: 'WorkersSilent', message };
}

/** A worker that ends before its first word was not brought down by a file; several in a row that end soon after it hardly were. */
function failureOf(job: Job, pod: Pod | undefined, spoke: boolean, inARow: number): Trouble {
  const { exitCode, reason = 'it says nothing' } = pod?.status?.containerStatuses?.[0]?.state?.terminated ?? {};
  const how = exitCode === undefined ? reason : `exit code ${exitCode}, ${reason}`;
  const who = inARow === 1 ? 'A worker' : `${inARow} workers in a row`;
  const when = spoke ? 'soon after the first word, with nothing done' : 'before the first word';
  const message = `${who} ended ${when}; the last one: ${how}. Its Job stays: see kubectl logs job/${job.metadata.name}`;
  return { reason: 'WorkersFail', message };
}

/** The number in its name counts: a name is what two Jobs cannot share. */
export function slotOf({ metadata }: Job): number {
  const slot = Number(metadata.labels?.[LABEL.slot] ?? -1);
  const pool = metadata.labels?.[LABEL.pool] ?? '';
  return metadata.name === jobName(pool, slot) ? slot : -1;
}

function settingsOf({ spec }: ToolchainPool): PoolSettings {
  const { capacity, standby, paused, conversionsPerWorker, slots } = spec;
  return {
    capacity,
    // Lowered below it later, as by an autoscaler, the capacity counts.
    standby: Math.min(standby, capacity),
    paused,
    conversionsPerWorker,
    slots,
    idleMs: spec.idleSeconds * 1000,
    targetWaitMs: spec.targetWaitSeconds * 1000,
  };
}
