/** What operators are told of a look at a pool, in log and metrics. */
import type { ControllerMetrics } from '../../../telemetry/controller.ts';
import type { Log } from '../../../telemetry/log.ts';
import type { Outcome } from '../apply/apply.ts';
import type { Memory } from '../memory.ts';
import type { Decision, Seen } from '../observe/seen.ts';
import { countsOf } from './status.ts';

interface Told {
  readonly metrics: ControllerMetrics;
  readonly log: Log;
}

/** @param now ms since the epoch */
export function report(
  { metrics, log }: Told,
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
    metrics.workersCreated(pool, created, memory.waitingSince === undefined ? undefined : (now - memory.waitingSince) / 1000);
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
