/** One look at one pool, and what follows from it: gather, decide, apply, say. */
import type { Kube } from '../../kube/connection/connect.ts';
import type { Recorder } from '../../kube/events.ts';
import type { WorkerPresence } from '../../pools/workers.ts';
import type { ControllerMetrics } from '../../telemetry/controller.ts';
import type { Log } from '../../telemetry/log.ts';
import { type ApplyDeps, apply, type Outcome } from './apply/apply.ts';
import { type Declare, declared } from './apply/declared.ts';
import { templateOf } from './apply/template.ts';
import { type PublishState, publishTrouble } from './apply/trouble.ts';
import { decide } from './decide/decide.ts';
import { again, QUIET_MS } from './decide/pace.ts';
import type { Memory } from './memory.ts';
import { gather } from './observe/gather.ts';
import type { PoolObject } from './observe/objects.ts';
import { learnRefusal } from './observe/refusals.ts';
import { type Decision, type Demand, isComing, isLive, type Seen } from './observe/seen.ts';
import { report } from './report/report.ts';
import { statusOf, writeStatus } from './report/status.ts';
import { NOTHING_DECIDED, NOTHING_SEEN, type Standing, understood } from './understood.ts';

export interface ReconcileDeps extends ApplyDeps {
  readonly kube: Kube;
  /** Undefined while NATS does not answer. */
  readonly demandOf: (pool: string) => Promise<Demand | undefined>;
  readonly heartbeatsOf: (pool: string) => readonly WorkerPresence[];
  readonly enginesKnown: (pool: string) => boolean;
  readonly listening: () => boolean;
  readonly declare: Declare;
  readonly publishState: PublishState;
  readonly natsServers: readonly string[];
  /** How long a worker's pod may run without a word, ms. */
  readonly silentMs: number;
  readonly recorder: Recorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

/** @returns after how many ms to look again, whatever is heard meanwhile */
export async function reconcile(deps: ReconcileDeps, resource: PoolObject, memory: Memory, standing: Standing): Promise<number> {
  const now = deps.clock();
  const { pool, trouble } = understood(resource, standing);
  if (trouble !== undefined) await writeStatus(deps, pool, memory, statusOf(pool, NOTHING_SEEN, NOTHING_DECIDED, now, trouble));
  if (trouble !== undefined || pool.metadata.deletionTimestamp !== undefined) return QUIET_MS;
  const { name, namespace } = pool.metadata;
  const undeclared = await declared(deps.declare, pool, memory);

  const template = templateOf(pool, deps.natsServers);
  const jobs = deps.live.of(`${namespace}/${name}`);
  await learnRefusal(deps, jobs, namespace, memory, now);
  const heartbeats = deps.heartbeatsOf(name);
  const demand = await deps.demandOf(name);
  // Its stream may be gone, as after a restore.
  if (demand === undefined) memory.declared = '';
  const seen = gather(
    {
      pool,
      jobs,
      podOf: deps.live.podOf,
      pods: deps.live.podsOf(`${namespace}/${name}`),
      heartbeats: new Map(heartbeats.map((heartbeat) => [heartbeat.worker, heartbeat])),
      listening: deps.listening(),
      demand,
      template: template.hash,
      enginesKnown: heartbeats.length > 0 || deps.enginesKnown(name),
      silentMs: deps.silentMs,
      now,
    },
    memory,
  );
  const decision = decide(seen);
  const outcome = await apply(deps, pool, seen, undeclared === undefined ? decision.actions : [], template);
  learn(memory, seen, decision, outcome, template.hash, now);
  // First: who watches the figures must not see old ones because the status is refused.
  report(deps, name, seen, decision, outcome, memory, now);
  const status = statusOf(pool, seen, decision, now, undeclared);
  await writeStatus(deps, pool, memory, status);
  // Of a name that is another's nobody else speaks.
  if (undeclared === undefined) await publishTrouble(deps, name, { status, seen, template: template.hash, now }, memory);
  return again(seen, decision, outcome);
}

/** A name that something else bears is tried again after this, ms. */
const BLOCKED_MS = 30_000;

/** @param now ms since the epoch */
function learn(memory: Memory, seen: Seen, { actions, desired }: Decision, outcome: Outcome, template: string, now: number): void {
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
    for (const backOff of [memory.startFailures, memory.earlyDeaths, memory.jobRefusals]) backOff.succeeded(template);
}
