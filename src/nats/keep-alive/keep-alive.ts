/** What must be said to NATS in time, however long this thread is held by something else: a thread with a connection of its own says it for us. */
import { Worker } from 'node:worker_threads';
import type { Hold, KeptAlive, ToThread } from './messages.ts';
import { monotonicMs } from './messages.ts';

/** How often this thread shows that it is not held, ms. */
const PULSE_MS = 1_000;
/** Held for longer, it will not come back: its orders are for others, and the process ends, ms. */
export const STALL_MS = 60_000;
/** Between the end of a thread that broke and the start of the next, ms. */
const AGAIN_MS = 1_000;

/** A message in hand. It is ours for as long as one of both threads was heard in time. */
export interface KeptMessage {
  isHeld(): boolean;
  /** @param leftMs from now */
  extend(leftMs: number): void;
  letGo(): void;
}

export interface KeepAlive {
  /** Resolves when its thread is connected: held before that, nobody speaks for us. */
  readonly ready: Promise<void>;
  /** @param ack where the message's consumer is told that it is worked on @param leftMs from now until it lapses @param ackWaitMs what each word adds */
  hold(ack: string, leftMs: number, ackWaitMs: number): KeptMessage;
  /** What was just said, to be said again while we are late. */
  repeat(subject: string, text: string): void;
  close(): Promise<void>;
}

/** @param connection as `connectNats` takes it @param stallMs after which a held thread's process is killed */
export function openKeepAlive(connection: object, stallMs = STALL_MS): KeepAlive {
  const pulse = new Int32Array(new SharedArrayBuffer(4));
  const holds = new Map<number, Hold>();
  let said: ToThread & { do: 'repeat' } = { do: 'repeat', subject: '', text: '' };
  let worker: Worker | undefined;
  let closed = false;
  let last = 0;
  const ready = Promise.withResolvers<void>();
  const tell = (words: ToThread) => worker?.postMessage(words);

  const start = () => {
    if (closed) return;
    const workerData: KeptAlive = { connection, pulse, stallMs };
    worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData });
    worker.unref();
    worker.once('message', () => ready.resolve());
    worker.once('error', (error) => {
      process.emitWarning(`the thread that keeps orders alive broke, and is started anew: ${(error as Error).stack}`);
      worker = undefined;
      setTimeout(start, AGAIN_MS).unref();
    });
    tell(said);
    for (const [id, hold] of holds) tell({ do: 'hold', id, ...hold });
  };
  start();
  const beating = setInterval(() => Atomics.add(pulse, 0, 1), PULSE_MS).unref();

  return {
    ready: ready.promise,

    hold(ack, leftMs, ackWaitMs) {
      // Lost before anybody let go of them.
      for (const [lost, { until }] of holds) if (Number(Atomics.load(until, 0)) <= monotonicMs()) holds.delete(lost);
      const id = ++last;
      const until = new BigInt64Array(new SharedArrayBuffer(8));
      until[0] = BigInt(Math.floor(monotonicMs() + leftMs));
      holds.set(id, { ack, ackWaitMs, until });
      tell({ do: 'hold', id, ack, ackWaitMs, until });
      return {
        isHeld: () => monotonicMs() < Number(Atomics.load(until, 0)),
        extend(left) {
          const later = BigInt(Math.floor(monotonicMs() + left));
          if (Atomics.load(until, 0) < later) Atomics.store(until, 0, later);
        },
        letGo() {
          Atomics.store(until, 0, 0n);
          holds.delete(id);
          tell({ do: 'drop', id });
        },
      };
    },

    repeat(subject, text) {
      said = { do: 'repeat', subject, text };
      tell(said);
    },

    async close() {
      closed = true;
      clearInterval(beating);
      await worker?.terminate();
    },
  };
}
