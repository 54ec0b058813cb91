/** Reports a reconciliation to operators, in the log and in metrics. */
import type { ControllerMetrics } from '../../../telemetry/controller.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { PoolMemory } from '../memory.ts';
import type { PoolObject } from '../objects.ts';
import type { ApplyOutcome, Decision, Observation, Trouble } from '../observation.ts';
import { countsOf } from './status.ts';

interface ReportDeps {
  readonly metrics: ControllerMetrics;
  readonly log: Log;
}

interface Reconciled {
  readonly observed: Observation;
  readonly decision: Decision;
  readonly trouble: Trouble | undefined;
  readonly outcome: ApplyOutcome;
  /** Ms since the epoch. */
  readonly now: number;
}

export function report(
  { metrics, log }: ReportDeps,
  { name: pool, namespace = '' }: Pick<PoolObject['metadata'], 'name' | 'namespace'>,
  { observed, decision: { desired }, trouble, outcome: { created }, now }: Reconciled,
  memory: PoolMemory,
): void {
  const { demand, workers } = observed;
  const waits = (demand?.pending ?? 0) > 0;
  memory.sawOrders(waits, now);
  const since = memory.waitingSince();
  if (created > 0) {
    log.info({ pool, created, desired, pending: demand?.pending, in_flight: demand?.inFlight }, 'created workers');
    metrics.workersCreated(pool, created, since === undefined ? undefined : (now - since) / 1000);
  }
  metrics.pool(pool, {
    desired,
    ...countsOf(workers),
    queued: demand?.pending,
    running: demand?.inFlight,
    oldestSeconds: demand === undefined ? undefined : (demand.oldestMs ?? 0) / 1000,
  });
  metrics.degraded(pool, namespace, trouble !== undefined);
}
