/** A few threads that answer one question each at a time: one that takes too long is ended with its question, and another takes its place. */
import { type Transferable, Worker } from 'node:worker_threads';
import { Failure } from '../errors.ts';

/** How long one question may take, ms: an honest file takes a few. */
export const LIMIT_MS = 2_000;
/** How long a question may wait for a thread, ms, and how many may wait. */
const WAIT_MS = 10_000;
const MOST_WAITING = 256;
/** An honest file needs a few MB; one that needs more costs its thread, not the process. */
const HEAP_MB = 256;

export interface ThreadsOptions {
  /** The thread's program. */
  readonly entry: URL;
  /** What it is told at its start. */
  readonly workerData: unknown;
  /** What it says when it can be asked. */
  readonly ready: unknown;
  readonly threads: number;
  readonly limitMs?: number;
  /** Hears why a thread was ended, or ended by itself. */
  readonly onReplaced?: (why: Error) => void;
}

/** The thread that worked on a question was ended: it took too long, or too much memory. */
export class Exhausted extends Error {
  override readonly name = 'Exhausted';
}

export interface Threads {
  /** @param transfer buffers that go over instead of being copied @throws Exhausted · Failure `OVERLOADED` when no thread comes free in time */
  ask(question: unknown, transfer: readonly Transferable[]): Promise<unknown>;
  /** Ends all threads; whoever still waits is refused. */
  close(): Promise<void>;
}

interface Asked {
  readonly question: unknown;
  readonly transfer: readonly Transferable[];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  state: 'starting' | 'free' | 'busy';
}

export function openThreads({ entry, workerData, ready, threads, limitMs = LIMIT_MS, onReplaced }: ThreadsOptions): Threads {
  const waiting = new Set<Asked>();
  const there = new Set<Thread>();
  let closed = false;

  const start = (): void => {
    const worker = new Worker(entry, { workerData, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    const thread: Thread = { worker, state: 'starting' };
    there.add(thread);
    // Whoever asks keeps the process alive for as long as it wants the answer.
    worker.unref();
    worker.once('message', (word: unknown) => {
      if (word !== ready) return;
      thread.state = 'free';
      serve();
    });
    const ended = (why: Error) => {
      if (!there.delete(thread)) return;
      onReplaced?.(why);
      // Each start that fails costs one question, so that a broken program does not start for ever.
      const [first] = waiting;
      if (thread.state === 'starting' && first !== undefined) refuse(first, new Error('a thread could not be started', { cause: why }));
      serve();
    };
    worker.once('error', (error) => ended(error as Error));
    worker.once('exit', () => ended(new Error('the thread ended')));
  };

  const serve = (): void => {
    for (const thread of there) {
      const [first] = waiting;
      if (first === undefined) return;
      if (thread.state === 'free') give(thread, first);
    }
    const starting = [...there].some(({ state }) => state === 'starting');
    if (!closed && waiting.size > 0 && !starting && there.size < threads) start();
  };

  const give = (thread: Thread, asked: Asked): void => {
    const { worker } = thread;
    waiting.delete(asked);
    thread.state = 'busy';
    let settled = false;
    const settle = () => {
      settled = true;
      clearTimeout(timer);
      worker.off('message', answered).off('error', broke).off('exit', broke);
    };
    const answered = (answer: unknown) => {
      settle();
      thread.state = 'free';
      asked.resolve(answer);
      serve();
    };
    const broke = (cause: unknown) => {
      settle();
      asked.reject(new Exhausted('the thread ended over a question', { cause }));
    };
    const late = () => {
      if (settled) return;
      settle();
      there.delete(thread);
      const why = new Exhausted(`a question took longer than ${limitMs} ms`);
      void worker.terminate();
      asked.reject(why);
      onReplaced?.(why);
      serve();
    };
    // Where it was us who were late, the answer lies there and is read before what `setImmediate` is given.
    const timer = setTimeout(() => setImmediate(late), limitMs);
    worker.on('message', answered).on('error', broke).on('exit', broke);
    worker.postMessage(asked.question, asked.transfer);
  };

  const refuse = (asked: Asked, error: Error): void => {
    if (waiting.delete(asked)) asked.reject(error);
  };

  start();
  return {
    async ask(question, transfer) {
      if (closed || waiting.size >= MOST_WAITING) throw new Failure('OVERLOADED');
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const asked: Asked = { question, transfer, resolve, reject };
      const impatient = setTimeout(() => refuse(asked, new Failure('OVERLOADED')), WAIT_MS);
      waiting.add(asked);
      serve();
      return promise.finally(() => clearTimeout(impatient));
    },

    async close() {
      closed = true;
      for (const asked of waiting) refuse(asked, new Failure('OVERLOADED'));
      const all = [...there];
      there.clear();
      await Promise.all(all.map(({ worker }) => worker.terminate()));
    },
  };
}
