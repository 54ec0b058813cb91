/** Signals between processes, over core NATS: nothing is stored, and who is not listening misses them. */
import { EventEmitter } from 'node:events';
import type { Nats } from '../nats/connection.ts';
import { publish, subscribe } from '../nats/hints.ts';
import { answerAll, askAll } from '../nats/requests.ts';
import type { Signals } from './signals.ts';

/** Between processes of which some keep what others say. */
export interface SharedSignals extends Signals {
  /**
   * Hears of every job from now on, and learns from those who did before what they have heard, now and whenever the connection was away:
   * a client that asks one replica and then another is told the same. @returns when that is done, or nobody answered
   */
  join(): Promise<void>;
  close(): void;
}

const PROGRESS = 'signal.progress';
const ENDED = 'signal.ended';
const CANCEL = 'signal.cancel';
const KNOWN = 'signal.known';

/** What is worked on is said again, for those who were not listening, ms. */
const REPEAT_MS = 2_000;

/** Jobs whose progress is remembered: an end may go unheard, so the one heard of first is forgotten for the next. */
const REMEMBERED = 10_000;

/**
 * A process hears of progress from its first question about any job's, and of cancellations only for jobs that it names: thousands of workers
 * must not all hear what is meant for a few replicas.
 */
export function natsSignals(nats: Nats): SharedSignals {
  const heard = new Map<string, number>();
  /** What this process said last, so that it says only what is new, and again what nobody may have heard. */
  const said = new Map<string, number>();
  const risen = new EventEmitter().setMaxListeners(0);
  const unsubscribe: (() => void)[] = [];
  let isListening = false;
  let repeating: NodeJS.Timeout | undefined;

  const note = (jobId: string, percent: number) => {
    if (!Number.isInteger(percent) || percent < 0 || percent > 99) return;
    const before = heard.get(jobId);
    // Engines estimate, messages overtake each other, and the next worker begins again: what a client sees never falls.
    if (before !== undefined && before >= percent) return;
    remember(heard, jobId, percent);
    risen.emit(eventOf(jobId));
  };
  const listen = () => {
    if (isListening) return;
    isListening = true;
    unsubscribe.push(
      subscribe(nats, PROGRESS, '*', (jobId, text) => note(jobId, text === '' ? Number.NaN : Number(text))),
      subscribe(nats, ENDED, '*', (jobId) => void heard.delete(jobId)),
    );
  };
  const learn = () =>
    askAll(nats, KNOWN, (text) => {
      for (const [jobId, percent] of Object.entries(JSON.parse(text) as Record<string, unknown>)) note(jobId, Number(percent));
    });
  const say = (jobId: string, percent: number) => publish(nats, PROGRESS, jobId, String(percent));
  const leave = (jobId: string) => {
    said.delete(jobId);
    if (said.size > 0) return;
    clearInterval(repeating);
    repeating = undefined;
  };

  return {
    progress(jobId, percent) {
      const now = Math.min(99, Math.max(0, Math.floor(percent)));
      if ((said.get(jobId) ?? -1) >= now) return;
      remember(said, jobId, now);
      say(jobId, now);
      repeating ??= setInterval(() => {
        for (const [job, last] of said) say(job, last);
      }, REPEAT_MS).unref();
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
    leave,
    ended(jobId) {
      leave(jobId);
      heard.delete(jobId);
      publish(nats, ENDED, jobId, '');
    },
    cancel: (jobId) => publish(nats, CANCEL, jobId, ''),
    onCancel: (jobId, callback) => subscribe(nats, CANCEL, jobId, () => callback()),

    async join() {
      listen();
      unsubscribe.push(nats.onReconnect(() => void learn()));
      await learn();
      // Who knows nothing yet has nothing to say.
      unsubscribe.push(answerAll(nats, KNOWN, () => JSON.stringify(Object.fromEntries(heard))));
    },
    close() {
      clearInterval(repeating);
      for (const end of unsubscribe.splice(0)) end();
    },
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
