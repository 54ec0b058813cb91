/** Signals between processes, over core NATS: nothing is stored, and processes that are not subscribed miss them. */
import { EventEmitter } from 'node:events';
import type { Nats } from '../nats/connection.ts';
import { publish, subscribe } from '../nats/hints.ts';
import { answerAll, askAll } from '../nats/requests.ts';
import type { Signals } from './signals.ts';

/** Signals between processes, some of which remember the progress that others publish. */
export interface SharedSignals extends Signals {
  /**
   * Subscribes to the progress of every job, and requests what earlier subscribers know, now and after each reconnect: a client that asks
   * one replica and then another gets the same answer. Resolves when that is done, or no replica answered.
   */
  join(): Promise<void>;
  close(): void;
}

const PROGRESS = 'signal.progress';
const ENDED = 'signal.ended';
const CANCEL = 'signal.cancel';
const KNOWN = 'signal.known';

/** How often the progress of running jobs is repeated, for new subscribers, ms. */
const REPEAT_MS = 2_000;

/** Jobs whose progress is remembered: an `ended` may be missed, so above this the oldest entry is dropped. */
const REMEMBERED = 10_000;

/**
 * A process subscribes to progress when it first asks for any job's, and to cancellations only of the jobs that it names: thousands of
 * workers must not all receive what is meant for a few replicas.
 */
export function natsSignals(nats: Nats): SharedSignals {
  const known = new Map<string, number>();
  /** What this process published last, so that it publishes only changes, and can repeat them. */
  const published = new Map<string, number>();
  const risen = new EventEmitter().setMaxListeners(0);
  const unsubscribe: (() => void)[] = [];
  let isListening = false;
  let repeating: NodeJS.Timeout | undefined;

  const note = (jobId: string, percent: number) => {
    if (!Number.isInteger(percent) || percent < 0 || percent > 99) return;
    const before = known.get(jobId);
    // Engines estimate, messages overtake each other, and the next worker begins again: what a client sees never falls.
    if (before !== undefined && before >= percent) return;
    remember(known, jobId, percent);
    risen.emit(eventOf(jobId));
  };
  const listen = () => {
    if (isListening) return;
    isListening = true;
    unsubscribe.push(
      subscribe(nats, PROGRESS, '*', (jobId, text) => note(jobId, text === '' ? Number.NaN : Number(text))),
      subscribe(nats, ENDED, '*', (jobId) => void known.delete(jobId)),
    );
  };
  const learn = () =>
    askAll(nats, KNOWN, (text) => {
      for (const [jobId, percent] of Object.entries(JSON.parse(text) as Record<string, unknown>)) note(jobId, Number(percent));
    });
  const publishProgress = (jobId: string, percent: number) => publish(nats, PROGRESS, jobId, String(percent));
  const leave = (jobId: string) => {
    published.delete(jobId);
    if (published.size > 0) return;
    clearInterval(repeating);
    repeating = undefined;
  };

  return {
    progress(jobId, percent) {
      const now = Math.min(99, Math.max(0, Math.floor(percent)));
      if ((published.get(jobId) ?? -1) >= now) return;
      remember(published, jobId, now);
      publishProgress(jobId, now);
      repeating ??= setInterval(() => {
        for (const [job, last] of published) publishProgress(job, last);
      }, REPEAT_MS).unref();
    },
    lastProgress(jobId) {
      listen();
      return known.get(jobId);
    },
    onProgress(jobId, callback) {
      listen();
      const own = () => callback();
      risen.on(eventOf(jobId), own);
      return () => void risen.off(eventOf(jobId), own);
    },
    leave,
    ended(jobId) {
      leave(jobId);
      known.delete(jobId);
      publish(nats, ENDED, jobId, '');
    },
    cancel: (jobId) => publish(nats, CANCEL, jobId, ''),
    onCancel: (jobId, callback) => subscribe(nats, CANCEL, jobId, () => callback()),

    async join() {
      listen();
      unsubscribe.push(nats.onReconnect(() => void learn()));
      await learn();
      // Only now: before, it had nothing to answer.
      unsubscribe.push(answerAll(nats, KNOWN, () => JSON.stringify(Object.fromEntries(known))));
    },
    close() {
      clearInterval(repeating);
      for (const end of unsubscribe.splice(0)) end();
    },
  };
}

/** An EventEmitter throws on an event named `error` without a listener: no job's event may have that name. */
const eventOf = (jobId: string): string => `job ${jobId}`;

function remember(jobs: Map<string, number>, jobId: string, percent: number): void {
  jobs.set(jobId, percent);
  if (jobs.size <= REMEMBERED) return;
  const [first] = jobs.keys();
  if (first !== undefined) jobs.delete(first);
}
