/** One look at one pool, and what follows from it: gather, decide, apply, say. */
import { ToolchainPool } from '../../contracts/toolchain-pool.ts';
import type { Kube } from '../../kube/connect.ts';
import type { Recorder } from '../../kube/events.ts';
import type { Heard } from '../../pools/workers.ts';
import type { ControllerMetrics } from '../../telemetry/controller.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Hands, Outcome } from './apply.ts';
import { apply } from './apply.ts';
import { decide } from './decide.ts';
import { type Declare, declared } from './declared.ts';
import { gather, PODLESS_MS } from './gather.ts';
import type { Memory } from './memory.ts';
import { isFinished, type Job, type PoolObject } from './objects.ts';
import { refusalOf } from './refusals.ts';
import { type Decision, type Demand, isComing, isLive, type Seen, type Trouble } from './seen.ts';
import { statusOf, writeStatus } from './status.ts';
import { templateOf } from './template.ts';

export interface Surroundings extends Hands {
  readonly kube: Kube;
  /** Undefined while NATS does not answer. */
  readonly demandOf: (pool: string) => Promise<Demand | undefined>;
  readonly wordsOf: (pool: string) => readonly Heard[];
  readonly enginesKnown: (pool: string) => boolean;
  readonly listening: () => boolean;
  readonly declare: Declare;
  readonly natsServers: readonly string[];
  readonly recorder: Recorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

/** Until more Jobs may be made, at the soonest, ms. */
const MORE_MS = 500;
/** While something is under way, ms. */
const SOON_MS = 1_000;
/** While orders wait or are held, ms: what waits is heard at once, what ends is not. */
const BUSY_MS = 2_000;
const QUIET_MS = 15_000;
/** A name that something else bears is tried again after this, ms. */
const BLOCKED_MS = 30_000;

/** @returns after how many ms to look again, whatever is heard meanwhile */
export async function reconcile(
  around: Surroundings,
  resource: PoolObject,
  memory: Memory,
  namesake: PoolObject | undefined,
): Promise<number> {
  const { clock } = around;
  const now = clock();
  const read = ToolchainPool.safeParse(resource);
  const trouble = namesake !== undefined ? takenBy(namesake) : read.success ? undefined : notUnderstood(read.error.issues[0]);
  const pool = read.success ? read.data : (resource as unknown as ToolchainPool);
  if (trouble !== undefined || pool.metadata.deletionTimestamp !== undefined) {
    if (trouble !== undefined)
      await writeStatus(
        around,
        pool,
        memory,
        statusOf(pool, nothing(now), { actions: [], desired: undefined, hold: undefined }, now, trouble),
      );
    return QUIET_MS;
  }
  const { name, namespace } = pool.metadata;
  const undeclared = await declared(around.declare, pool, memory);

  const template = templateOf(pool, around.natsServers);
  const jobs = around.live.of(`${namespace}/${name}`);
  await learnRefusal(around, jobs, namespace, memory, now);
  const words = around.wordsOf(name);
  const demand = await around.demandOf(name);
  // Its stream may be gone, as after a restore.
  if (demand === undefined) memory.declared = '';
  const seen = gather(
    {
      pool,
      jobs,
      podOf: around.live.podOf,
      words: new Map(words.map((word) => [word.worker, word])),
      listening: around.listening(),
      demand,
      template: template.hash,
      enginesKnown: words.length > 0 || around.enginesKnown(name),
      now,
    },
    memory,
  );
  const decision = decide(seen);
  const outcome = await apply(around, pool, seen, undeclared === undefined ? decision.actions : [], template);
  remember(memory, seen, decision, outcome, template.hash, now);
  await writeStatus(around, pool, memory, statusOf(pool, seen, decision, now, undeclared));
  tell(around, name, seen, decision, outcome, memory, now);
  return again(seen, decision, outcome);
}

function remember(memory: Memory, seen: Seen, { actions, desired }: Decision, outcome: Outcome, template: string, now: number): void {
  const { created, refused, blocked } = outcome;
  // A leader that has just begun takes what it finds for what was wanted.
  const wanted = Math.max(desired ?? 0, memory.peaks.all().length === 0 ? seen.workers.filter(isLive).length : 0);
  if (desired !== undefined) memory.peaks.note(now, wanted, seen.pool.idleMs);
  for (const slot of blocked) memory.blocked.set(slot, now + BLOCKED_MS);
  const isAtRest = !actions.some((action) => action.do === 'create') && !seen.workers.some(isComing);
  if (refused !== undefined)
    memory.jobRefusals.failed(template, now, { reason: 'JobRefused', message: `Kubernetes refuses its Jobs: ${refused}` });
  else if (created > 0) memory.jobRefusals.succeeded(template);
  // Whether it would go well now nobody tries any more.
  else if (isAtRest && seen.backOff !== undefined && now >= seen.backOff.until)
    for (const backOff of [memory.startFailures, memory.jobRefusals]) backOff.succeeded(template);
}

/** Asks once in a while why a Job has no pod yet, where that has lasted. */
async function learnRefusal(
  { kube, live }: Surroundings,
  jobs: readonly Job[],
  namespace: string | undefined,
  memory: Memory,
  now: number,
): Promise<void> {
  const podless = jobs.find(
    (job) =>
      live.podOf(job) === undefined &&
      job.metadata.deletionTimestamp === undefined &&
      !isFinished(job) &&
      now - (memory.workers.get(job.metadata.uid ?? '')?.firstSeen ?? now) > PODLESS_MS,
  );
  if (podless === undefined) memory.refusal = undefined;
  else if (memory.refusal === undefined || now > memory.refusal.until)
    memory.refusal = { message: await refusalOf(kube, namespace, podless.metadata.uid ?? ''), until: now + PODLESS_MS };
}

function tell(
  { metrics, log }: Surroundings,
  pool: string,
  seen: Seen,
  { desired, hold }: Decision,
  { created }: Outcome,
  memory: Memory,
  now: number,
): void {
  const { demand, workers } = seen;
  const waits = (demand?.pending ?? 0) > 0;
  memory.waitingSince = waits ? (memory.waitingSince ?? now) : undefined;
  if (created > 0) {
    log.info({ pool, created, desired, pending: demand?.pending, in_flight: demand?.inFlight }, 'workers were made');
    metrics.workersMade(pool, created, memory.waitingSince === undefined ? undefined : (now - memory.waitingSince) / 1000);
  }
  const count = (...states: readonly string[]) => workers.filter(({ state }) => states.includes(state)).length;
  metrics.pool(pool, {
    desired,
    workers: workers.filter(isLive).length,
    idle: count('idle'),
    busy: count('busy', 'draining'),
    queued: demand?.pending,
    running: demand?.inFlight,
    oldestSeconds: demand === undefined ? undefined : (demand.oldestMs ?? 0) / 1000,
    degraded: typeof hold === 'object' ? 1 : 0,
  });
}

function again({ workers, demand }: Seen, { actions, desired }: Decision, { waitMs }: Outcome): number {
  // Several at a time: each time all Jobs of the pool are read.
  if (waitMs !== undefined) return Math.max(MORE_MS, waitMs);
  const live = workers.filter(isLive);
  if (actions.length > 0 || desired === undefined || live.some(({ state }) => state !== 'idle' && state !== 'busy')) return SOON_MS;
  return demand !== undefined && (demand.pending > 0 || demand.inFlight > 0 || live.length !== desired) ? BUSY_MS : QUIET_MS;
}

const takenBy = ({ metadata }: PoolObject): Trouble => ({
  reason: 'NameTaken',
  message: `The ToolchainPool ${metadata.name} of namespace ${metadata.namespace} has this name: pools of one service need names of their own.`,
});

const notUnderstood = (issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): Trouble => ({
  reason: 'NotUnderstood',
  message: `${issue?.path.map(String).join('.')}: ${issue?.message}. Is the CustomResourceDefinition of another version?`,
});

const nothing = (now: number): Seen => ({
  now,
  pool: { capacity: 0, standby: 0, paused: false, idleMs: 0, targetWaitMs: 0, conversionsPerWorker: 1, slots: 1 },
  demand: undefined,
  serviceMs: undefined,
  enginesKnown: true,
  workers: [],
  foreignSlots: [],
  history: [],
  backOff: undefined,
});
