/** A queue of keys to work on: each waits at most once, has one worker at a time, and is retried with growing back-off. */
import { KubeError } from './connection/error.ts';
import { quietly } from './quietly.ts';

export interface Clock {
  /** ms from any origin. */
  now(): number;
  /** @returns cancel */
  after(ms: number, callback: () => void): () => void;
}

export interface Hooks {
  added?(depth: number): void;
  started?(waitedMs: number, depth: number): void;
  done?(workedMs: number): void;
  retried?(key: string, error: unknown, inMs: number): void;
}

export interface WorkQueueOptions {
  /** May return when it wants the key again. If it throws, the key is retried after a back-off. */
  readonly work: (key: string, signal: AbortSignal) => Promise<{ readonly againAfterMs: number } | undefined>;
  /** How many keys are worked on at the same time. */
  readonly concurrency?: number;
  readonly minBackoffMs?: number;
  readonly maxBackoffMs?: number;
  readonly clock?: Clock;
  readonly hooks?: Hooks;
}

export interface WorkQueue {
  /** A key that is being worked on is worked on once more afterwards. */
  add(key: string): void;
  /** If a key is added several times, the earliest time counts. */
  addAfter(key: string, ms: number): void;
  /** Resets the back-off of a key. */
  forget(key: string): void;
  /** Keys that wait. */
  readonly depth: number;
  /** Keys being worked on. */
  readonly busy: number;
  /** Failures of a key in a row. */
  retries(key: string): number;
  /** Takes no more keys, aborts the signal, and waits for the work in progress. */
  close(): Promise<void>;
}

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { work, concurrency = 1, minBackoffMs = 50, maxBackoffMs = 60_000, clock = SYSTEM, hooks } = options;
  const notify = {
    added: quietly((depth: number) => hooks?.added?.(depth)),
    started: quietly((waitedMs: number, depth: number) => hooks?.started?.(waitedMs, depth)),
    done: quietly((workedMs: number) => hooks?.done?.(workedMs)),
    retried: quietly((key: string, error: unknown, inMs: number) => hooks?.retried?.(key, error, inMs)),
  };
  /** When each key was added; a Map keeps the order of insertion. */
  const waiting = new Map<string, number>();
  const working = new Map<string, Promise<void>>();
  /** Added while they were being worked on. */
  const dirty = new Set<string>();
  const later = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  const failures = new Map<string, number>();
  const closing = new AbortController();

  function add(key: string): void {
    if (closing.signal.aborted || waiting.has(key)) return;
    if (working.has(key)) {
      dirty.add(key);
      return;
    }
    waiting.set(key, clock.now());
    notify.added(waiting.size);
    next();
  }

  function addAfter(key: string, ms: number): void {
    if (closing.signal.aborted) return;
    const at = clock.now() + ms;
    const planned = later.get(key);
    if (planned !== undefined && planned.at <= at) return;
    planned?.cancel();
    const cancel = clock.after(ms, () => {
      later.delete(key);
      add(key);
    });
    later.set(key, { at, cancel });
  }

  function next(): void {
    for (const [key, since] of waiting) {
      if (working.size >= concurrency) return;
      waiting.delete(key);
      notify.started(clock.now() - since, waiting.size);
      working.set(key, once(key));
    }
  }

  /** Never rejects. */
  async function once(key: string): Promise<void> {
    const begun = clock.now();
    try {
      // Not synchronously: the caller of `add` must not run the work.
      await Promise.resolve();
      const again = await work(key, closing.signal);
      failures.delete(key);
      if (again !== undefined) addAfter(key, again.againAfterMs);
    } catch (error) {
      retry(key, error);
    }
    notify.done(clock.now() - begun);
    working.delete(key);
    if (dirty.delete(key)) add(key);
    if (!closing.signal.aborted) next();
  }

  function retry(key: string, error: unknown): void {
    if (closing.signal.aborted) return;
    const count = failures.get(key) ?? 0;
    failures.set(key, count + 1);
    const asked = error instanceof KubeError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    const inMs = Math.max(asked, Math.min(maxBackoffMs, minBackoffMs * 2 ** count));
    notify.retried(key, error, inMs);
    addAfter(key, inMs);
  }

  return {
    add,
    addAfter,
    forget: (key) => void failures.delete(key),
    get depth() {
      return waiting.size;
    },
    get busy() {
      return working.size;
    },
    retries: (key) => failures.get(key) ?? 0,
    async close() {
      closing.abort(new Error('the queue is closed'));
      waiting.clear();
      for (const { cancel } of later.values()) cancel();
      later.clear();
      await Promise.all(working.values());
    },
  };
}

/** Longest delay of a Node timer, ms: with a longer one it fires immediately. */
const LONGEST_MS = 2 ** 31 - 1;

const SYSTEM: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(LONGEST_MS, Math.max(0, ms)));
    return () => clearTimeout(timer);
  },
};
