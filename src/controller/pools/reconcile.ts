/** Reconciles one pool: remember → observe and decide (pure) → apply → report. */
import type { Kube } from '../../kube/connection/connect.ts';
import type { Recorder } from '../../kube/events.ts';
import type { WorkerPresence } from '../../pools/registry.ts';
import type { ControllerMetrics } from '../../telemetry/controller.ts';
import type { Log } from '../../telemetry/log.ts';
import { type ApplyDeps, apply } from './apply/apply.ts';
import { type Declare, declareToQueue } from './apply/declare.ts';
import { templateOf } from './apply/template.ts';
import { type PublishState, publishTrouble } from './apply/trouble.ts';
import { decide } from './decide/decide.ts';
import { again, QUIET_MS } from './decide/pace.ts';
import type { PoolMemory } from './memory.ts';
import type { PoolObject } from './objects.ts';
import type { Demand } from './observation.ts';
import { observe } from './observe/observe.ts';
import { readRefusal } from './observe/refusals.ts';
import type { PoolObjects } from './observe/seen.ts';
import { remember } from './remember.ts';
import { report } from './report/report.ts';
import { poolStatus, writeStatus } from './report/status.ts';
import { troubleOf } from './report/trouble.ts';
import { NOTHING_DECIDED, NOTHING_OBSERVED, type PoolContext, validatePool } from './validate.ts';

export interface PoolReconcileDeps extends ApplyDeps {
  readonly kube: Kube;
  /** Undefined while NATS does not answer. */
  readonly demandOf: (pool: string) => Promise<Demand | undefined>;
  readonly heartbeatsOf: (pool: string) => readonly WorkerPresence[];
  readonly enginesKnown: (pool: string) => boolean;
  readonly listening: () => boolean;
  readonly declare: Declare;
  readonly publishState: PublishState;
  readonly natsServers: readonly string[];
  /** How long a worker's pod may run without a heartbeat, ms. */
  readonly silentMs: number;
  readonly recorder: Recorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

/** @throws KubeError @returns the longest time until the next reconciliation, ms; an event may trigger one sooner */
export async function reconcilePool(
  deps: PoolReconcileDeps,
  resource: PoolObject,
  memory: PoolMemory,
  context: PoolContext,
): Promise<number> {
  const now = deps.clock();
  const { pool, trouble: invalid } = validatePool(resource, context);
  if (invalid !== undefined) {
    deps.metrics.degraded(pool.metadata.name, pool.metadata.namespace ?? '', true);
    await writeStatus(deps, pool, memory, poolStatus(pool, NOTHING_OBSERVED, NOTHING_DECIDED, now, invalid));
  }
  if (invalid !== undefined || pool.metadata.deletionTimestamp !== undefined) return QUIET_MS;
  const { name, namespace } = pool.metadata;
  const undeclared = await declareToQueue(deps.declare, pool, memory);

  const template = templateOf(pool, deps.natsServers);
  const jobs = deps.live.of(`${namespace}/${name}`);
  memory.readRefusal(await readRefusal(deps, jobs, namespace, memory, now));
  const heartbeats = deps.heartbeatsOf(name);
  const demand = await deps.demandOf(name);
  // NATS may have been restored from a backup without this stream: declare the pool again.
  if (demand === undefined) memory.wasDeclared('');
  const objects: PoolObjects = {
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
  };
  remember(objects, memory);
  const observed = observe(objects, memory);
  const decision = decide(observed);
  const trouble = troubleOf(observed, decision, undeclared);
  const outcome = await apply(deps, pool, observed, undeclared === undefined ? decision.actions : [], template);
  memory.reconciled(
    {
      ...outcome,
      desired: decision.desired,
      workers: observed.workers,
      idleMs: observed.pool.idleMs,
      creates: decision.actions.some((action) => action.do === 'create'),
      template: template.hash,
    },
    now,
  );
  // Before the status: metrics must stay current even if the API server refuses that write.
  report(deps, pool.metadata, { observed, decision, trouble, outcome, now }, memory);
  const status = poolStatus(pool, observed, decision, now, trouble);
  await writeStatus(deps, pool, memory, status);
  // The state of a name is published only by its owner.
  if (undeclared === undefined) await publishTrouble(deps, name, { trouble, observed, template: template.hash, now }, memory);
  if (outcome.failure !== undefined) throw outcome.failure;
  return again(observed, decision, outcome);
}
