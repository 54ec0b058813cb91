/** Keys to be worked on: each waits at most once, is in one pair of hands at a time, and comes back later and later while its work fails. */
import { KubeError } from './connection/error.ts';
import { quietly } from './quietly.ts';

export interface Clock {
  /** ms, of any beginning. */
  now(): number;
  /** @returns takes it back */
  after(ms: number, callback: () => void): () => void;
}

export interface Hooks {
  added?(depth: number): void;
  started?(waitedMs: number, depth: number): void;
  done?(workedMs: number): void;
  retried?(key: string, error: unknown, inMs: number): void;
}

export interface WorkQueueOptions {
  /** May say how soon it wants the key again. When it fails, the key comes back after its back-off. */
  readonly work: (key: string, signal: AbortSignal) => Promise<{ readonly againAfterMs: number } | undefined>;
  /** How many keys are worked on at the same time. */
  readonly concurrency?: number;
  readonly minBackoffMs?: number;
  readonly maxBackoffMs?: number;
  readonly clock?: Clock;
  readonly hooks?: Hooks;
}

export interface WorkQueue {
  /** A key that is worked on at the moment is worked on again afterwards. */
  add(key: string): void;
  /** Of several such wishes for a key the earliest counts. */
  addAfter(key: string, ms: number): void;
  /** Its next failure is its first again. */
  forget(key: string): void;
  /** Keys that wait. */
  readonly depth: number;
  /** Keys that are worked on. */
  readonly busy: number;
  /** Failures of a key in a row. */
  retries(key: string): number;
  /** Takes nothing more, aborts the signal, and waits for what is being worked on. */
  close(): Promise<void>;
}

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { work, concurrency = 1, minBackoffMs = 50, maxBackoffMs = 60_000, clock = SYSTEM, hooks } = options;
  const tell = {
    added: quietly((depth: number) => hooks?.added?.(depth)),
    started: quietly((waitedMs: number, depth: number) => hooks?.started?.(waitedMs, depth)),
    done: quietly((workedMs: number) => hooks?.done?.(workedMs)),
    retried: quietly((key: string, error: unknown, inMs: number) => hooks?.retried?.(key, error, inMs)),
  };
  /** Since when each waits; a Map keeps the order in which they came. */
  const waiting = new Map<string, number>();
  const working = new Map<string, Promise<void>>();
  /** Asked for while they were worked on. */
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
    tell.added(waiting.size);
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
      tell.started(clock.now() - since, waiting.size);
      working.set(key, once(key));
    }
  }

  /** Never fails. */
  async function once(key: string): Promise<void> {
    const begun = clock.now();
    try {
      // Not in the caller's own time: whoever adds a key is not to be surprised by its work.
      await Promise.resolve();
      const again = await work(key, closing.signal);
      failures.delete(key);
      if (again !== undefined) addAfter(key, again.againAfterMs);
    } catch (error) {
      retry(key, error);
    }
    tell.done(clock.now() - begun);
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
    tell.retried(key, error, inMs);
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

/** Above this a timer of Node's would fire at once, ms. */
const LONGEST_MS = 2 ** 31 - 1;

const SYSTEM: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(LONGEST_MS, Math.max(0, ms)));
    return () => clearTimeout(timer);
  },
};
