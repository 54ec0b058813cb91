/** A small pool of threads that each answer one question at a time. A thread that takes too long is terminated and replaced. */
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
  /** Module that the thread runs. */
  readonly entry: URL;
  /** Passed to the thread at its start. */
  readonly workerData: unknown;
  /** The message by which a thread says that it is ready. */
  readonly ready: unknown;
  readonly threads: number;
  readonly limitMs?: number;
  /** Called with the reason when a thread was terminated or ended by itself. */
  readonly onReplaced?: (why: Error) => void;
}

/** The thread that worked on the question was terminated: it took too much time or memory. */
export class Exhausted extends Error {
  override readonly name = 'Exhausted';
}

export interface Threads {
  /** @param transfer buffers to transfer instead of copying @throws Exhausted · Failure `OVERLOADED` when no thread becomes free in time */
  ask(question: unknown, transfer: readonly Transferable[]): Promise<unknown>;
  /** Terminates all threads; callers that still wait get a Failure `OVERLOADED`. */
  close(): Promise<void>;
}

interface Pending {
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
  const waiting = new Set<Pending>();
  const pool = new Set<Thread>();
  let closed = false;

  const start = (): void => {
    const worker = new Worker(entry, { workerData, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    const thread: Thread = { worker, state: 'starting' };
    pool.add(thread);
    // The timer of a pending question keeps the process alive, not the thread.
    worker.unref();
    worker.once('message', (message: unknown) => {
      if (message !== ready) return;
      thread.state = 'free';
      serve();
    });
    const ended = (why: Error) => {
      if (!pool.delete(thread)) return;
      onReplaced?.(why);
      // Each failed start fails one question, so that a broken module is not restarted for ever.
      const [first] = waiting;
      if (thread.state === 'starting' && first !== undefined) refuse(first, new Error('a thread could not be started', { cause: why }));
      serve();
    };
    worker.once('error', (error) => ended(error as Error));
    worker.once('exit', () => ended(new Error('the thread ended')));
  };

  const serve = (): void => {
    for (const thread of pool) {
      const [first] = waiting;
      if (first === undefined) return;
      if (thread.state === 'free') assign(thread, first);
    }
    const starting = [...pool].some(({ state }) => state === 'starting');
    if (!closed && waiting.size > 0 && !starting && pool.size < threads) start();
  };

  const assign = (thread: Thread, pending: Pending): void => {
    const { worker } = thread;
    waiting.delete(pending);
    thread.state = 'busy';
    let settled = false;
    const settle = () => {
      settled = true;
      clearTimeout(timer);
      worker.off('message', onAnswer).off('error', onEnd).off('exit', onEnd);
    };
    const onAnswer = (answer: unknown) => {
      settle();
      thread.state = 'free';
      pending.resolve(answer);
      serve();
    };
    const onEnd = (cause: unknown) => {
      settle();
      pending.reject(new Exhausted('the thread ended while it worked on a question', { cause }));
    };
    const onTimeout = () => {
      if (settled) return;
      settle();
      pool.delete(thread);
      const why = new Exhausted(`a question took longer than ${limitMs} ms`);
      void worker.terminate();
      pending.reject(why);
      onReplaced?.(why);
      serve();
    };
    // If this process was busy, the answer may already have arrived: it is then read before the callback of `setImmediate` runs.
    const timer = setTimeout(() => setImmediate(onTimeout), limitMs);
    worker.on('message', onAnswer).on('error', onEnd).on('exit', onEnd);
    worker.postMessage(pending.question, pending.transfer);
  };

  const refuse = (pending: Pending, error: Error): void => {
    if (waiting.delete(pending)) pending.reject(error);
  };

  start();
  return {
    async ask(question, transfer) {
      if (closed || waiting.size >= MOST_WAITING) throw new Failure('OVERLOADED');
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const pending: Pending = { question, transfer, resolve, reject };
      const waitTimer = setTimeout(() => refuse(pending, new Failure('OVERLOADED')), WAIT_MS);
      waiting.add(pending);
      serve();
      return promise.finally(() => clearTimeout(waitTimer));
    },

    async close() {
      closed = true;
      for (const pending of waiting) refuse(pending, new Failure('OVERLOADED'));
      const all = [...pool];
      pool.clear();
      await Promise.all(all.map(({ worker }) => worker.terminate()));
    },
  };
}
