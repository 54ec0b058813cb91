/** Watches the event loop of this process: measures how long it was blocked, and which requests were in flight meanwhile. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
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

/** How often it samples while requests are in flight, ms: the routes of a line are of so short a time. */
const EVERY_MS = 50;
/** How often otherwise, ms: an idle process shall sleep. The longest block since the last sample is told. */
const IDLE_EVERY_MS = 1_000;
/** Blocks longer than the first are measured, longer than the second also logged, ms. */
const MEASURED_MS = 50;
const LOGGED_MS = 200;
/** Routes in one log line. */
const MOST_NAMED = 5;

/**
 * Node measures each turn of the loop, without the time that it waits for events. Which work a turn did Node does not say without tracing every
 * callback, so the route named is that of the latest request in flight during the hold: certain where it was the only one, likely where there
 * were few. The line also has the routes of the others, and the CPU time that this thread used: much less than the hold means that the machine
 * was busy, or that the disk was waited for, and not that a client's input was processed.
 */
export function watchLoop({ log, metrics, otherwise, signal }: LoopWatchDeps): LoopWatch {
  const inFlight = new Map<string, number>();
  /** In flight at any time since the last sample, in order of their start: bounded by the number of routes. */
  let recent = new Set<string>();
  let cpu = process.threadCpuUsage();
  const turns = monitorEventLoopDelay({ samplePerIteration: true });
  turns.enable();

  const sample = () => {
    const used = process.threadCpuUsage(cpu);
    const heldMs = turns.max / 1e6;
    turns.reset();
    if (heldMs > MEASURED_MS) {
      const routes = [...recent].reverse();
      const route = routes[0] ?? otherwise;
      metrics.loopHeld(route, heldMs / 1000);
      if (heldMs > LOGGED_MS) {
        const cpuMs = Math.round(Math.min(heldMs, (used.user + used.system) / 1000));
        log.warn({ route, in_flight: routes.slice(0, MOST_NAMED), ms: Math.round(heldMs), cpu_ms: cpuMs }, 'the event loop was blocked');
      }
    }
    if (isFast && recent.size === 0) sampleEvery(IDLE_EVERY_MS);
    recent = new Set(inFlight.keys());
    cpu = process.threadCpuUsage();
  };
  let isFast = false;
  let timer: NodeJS.Timeout | undefined;
  const sampleEvery = (ms: number): void => {
    isFast = ms < IDLE_EVERY_MS;
    clearInterval(timer);
    // Not at once: a turn that began before the timer is measured when it has ended.
    timer = setInterval(() => setImmediate(sample), ms).unref();
  };
  sampleEvery(IDLE_EVERY_MS);
  onAbort(signal, () => {
    clearInterval(timer);
    turns.disable();
  });

  return {
    begin(route) {
      if (!isFast && !signal.aborted) {
        // What was before is not this request's.
        sample();
        sampleEvery(EVERY_MS);
      }
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
