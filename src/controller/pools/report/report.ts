/** Reports a reconciliation to operators, in the log and in metrics. */
import type { ControllerMetrics } from '../../../telemetry/controller.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { Outcome } from '../apply/apply.ts';
import type { Memory } from '../memory.ts';
import type { Decision, Observation } from '../observe/observation.ts';
import { countsOf } from './status.ts';

interface ReportDeps {
  readonly metrics: ControllerMetrics;
  readonly log: Log;
}

/** @param now ms since the epoch */
export function report(
  { metrics, log }: ReportDeps,
  pool: string,
  observed: Observation,
  { desired, hold }: Decision,
  { created }: Outcome,
  memory: Memory,
  now: number,
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
    degraded: typeof hold === 'object' ? 1 : 0,
  });
}
