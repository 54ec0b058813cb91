/** Signals between processes, over core NATS: nothing is stored, and who is not listening misses them. */
import { EventEmitter } from 'node:events';
import type { Nats } from '../nats/connection.ts';
import { hear, tell } from '../nats/hints.ts';
import type { Signals } from './signals.ts';

const PROGRESS = 'signal.progress';
const ENDED = 'signal.ended';
const CANCEL = 'signal.cancel';

/** Jobs whose progress is remembered: an end may go unheard, so the one heard of first is forgotten for the next. */
const REMEMBERED = 10_000;

/**
 * A process hears of progress from its first question about any job's, and of cancellations only for jobs that it names: thousands of workers
 * must not all hear what is meant for a few replicas.
 */
export function natsSignals(nats: Nats): Signals {
  const heard = new Map<string, number>();
  /** What this process said last, so that it says only what is new. */
  const said = new Map<string, number>();
  const risen = new EventEmitter().setMaxListeners(0);
  let listening = false;

  const listen = () => {
    if (listening) return;
    listening = true;
    hear(nats, PROGRESS, '*', (jobId, text) => {
      const percent = Number(text);
      if (!Number.isInteger(percent) || percent < 0 || percent > 99) return;
      const before = heard.get(jobId);
      // Engines estimate, and messages overtake each other: what a client sees never falls.
      if (before !== undefined && before >= percent) return;
      remember(heard, jobId, percent);
      risen.emit(eventOf(jobId));
    });
    hear(nats, ENDED, '*', (jobId) => void heard.delete(jobId));
  };

  return {
    progress(jobId, percent) {
      const now = Math.min(99, Math.max(0, Math.floor(percent)));
      if ((said.get(jobId) ?? -1) >= now) return;
      remember(said, jobId, now);
      tell(nats, PROGRESS, jobId, String(now));
    },
    lastProgress(jobId) {
      listen();
      return heard.get(jobId);
    },
    onProgress(jobId, callback) {
      listen();
      const own = () => callback();
      risen.on(eventOf(jobId), own);
      return () => void risen.off(eventOf(jobId), own);
    },
    ended(jobId) {
      said.delete(jobId);
      heard.delete(jobId);
      tell(nats, ENDED, jobId, '');
    },
    cancel: (jobId) => tell(nats, CANCEL, jobId, ''),
    onCancel: (jobId, callback) => hear(nats, CANCEL, jobId, () => callback()),
  };
}

/** An EventEmitter throws on an event named `error` that nobody hears: no id may become that. */
const eventOf = (jobId: string): string => `job ${jobId}`;

function remember(jobs: Map<string, number>, jobId: string, percent: number): void {
  jobs.set(jobId, percent);
  if (jobs.size <= REMEMBERED) return;
  const [first] = jobs.keys();
  if (first !== undefined) jobs.delete(first);
}
