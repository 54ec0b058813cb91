/** Watches the event loop of this process: measures how long it was blocked, and which requests were in flight meanwhile. */
import { onAbort } from '../streams/abort.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export interface LoopWatch {
  /** A request of this route begins. @param route its pattern, never the requested URL */
  begin(route: string): void;
  /** It has been answered. */
  end(route: string): void;
}

interface LoopWatchDeps {
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'loopHeld'>;
  /** The label when no request was in flight: `worker`, `upkeep`. */
  readonly otherwise: string;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/** How often it samples, ms: a shorter block is not noticed. */
const EVERY_MS = 50;
/** Blocks longer than the first are measured, longer than the second also logged, ms. */
const MEASURED_MS = 50;
const LOGGED_MS = 200;
/** Routes in one log line. */
const MOST_NAMED = 5;

/**
 * A timer that comes late was kept waiting by whatever held the loop. Which work that was Node does not say without tracing every callback, so
 * the route named is that of the latest request in flight during the hold: certain where it was the only one, likely where there were few.
 * The line also has the routes of the others, and the CPU time that this thread used: much less than the hold means that the machine was
 * busy, or that the disk was waited for, and not that a client's input was processed.
 */
export function watchLoop({ log, metrics, otherwise, signal }: LoopWatchDeps): LoopWatch {
  const inFlight = new Map<string, number>();
  /** In flight at any time since the last sample, in order of their start: bounded by the number of routes. */
  let recent = new Set<string>();
  let sampledAt = performance.now();
  let cpu = process.threadCpuUsage();

  const sample = () => {
    const now = performance.now();
    const used = process.threadCpuUsage(cpu);
    const heldMs = now - sampledAt - EVERY_MS;
    if (heldMs > MEASURED_MS) {
      const routes = [...recent].reverse();
      const route = routes[0] ?? otherwise;
      metrics.loopHeld(route, heldMs / 1000);
      if (heldMs > LOGGED_MS) {
        const cpuMs = Math.round((used.user + used.system) / 1000);
        log.warn({ route, in_flight: routes.slice(0, MOST_NAMED), ms: Math.round(heldMs), cpu_ms: cpuMs }, 'the event loop was blocked');
      }
    }
    recent = new Set(inFlight.keys());
    sampledAt = now;
    cpu = process.threadCpuUsage();
  };
  const timer = setInterval(sample, EVERY_MS).unref();
  onAbort(signal, () => clearInterval(timer));

  return {
    begin(route) {
      inFlight.set(route, (inFlight.get(route) ?? 0) + 1);
      recent.delete(route);
      recent.add(route);
    },
    end(route) {
      const left = (inFlight.get(route) ?? 0) - 1;
      if (left > 0) inFlight.set(route, left);
      else inFlight.delete(route);
    },
  };
}
