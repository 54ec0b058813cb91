/** Heartbeats, and the words that hold orders, which NATS needs in time even while this thread is blocked: a thread with its own connection sends them. */
import { Worker } from 'node:worker_threads';
import type { KeptAlive, MessageHold, ToThread } from './messages.ts';
import { monotonicMs } from './messages.ts';

/** How often this thread shows that it is not blocked, ms. */
const PULSE_MS = 1_000;
/** Before the thread is started, ms: until then, the first order of a worker that was created for it has the machine for itself. */
const FIRST_MS = 1_000;
/** A thread blocked for longer is stuck: the process ends, so that others get its orders, ms. */
export const STALL_MS = 60_000;
/** Between the crash of a thread and the start of the next, ms. */
const AGAIN_MS = 1_000;

/** A delivered message. We hold it for as long as either thread is confirmed in time that it does. */
export interface MessageLease {
  isHeld(): boolean;
  /** @param leftMs from now */
  extend(leftMs: number): void;
  letGo(): void;
}

export interface KeepAlive {
  /** Resolves when its thread is connected: until then nothing is sent while this thread is blocked. */
  readonly ready: Promise<void>;
  /** @param ack the message's ack subject @param leftMs from now until redelivery @param ackWaitMs for how long each word holds it */
  hold(ack: string, leftMs: number, ackWaitMs: number): MessageLease;
  /** The heartbeat that was just published, to be repeated while this thread is late. */
  repeat(subject: string, text: string): void;
  close(): Promise<void>;
}

/** @param connection the settings for `connectNats` @param stallMs a process whose thread is blocked for this long is killed */
export function openKeepAlive(connection: object, stallMs = STALL_MS): KeepAlive {
  const pulse = new Int32Array(new SharedArrayBuffer(4));
  const holds = new Map<number, MessageHold>();
  let lastHeartbeat: ToThread & { do: 'repeat' } = { do: 'repeat', subject: '', text: '' };
  let worker: Worker | undefined;
  let closed = false;
  let last = 0;
  const ready = Promise.withResolvers<void>();
  const post = (message: ToThread) => worker?.postMessage(message);

  const start = () => {
    if (closed) return;
    const workerData: KeptAlive = { connection, pulse, stallMs };
    worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData });
    worker.unref();
    worker.once('message', () => ready.resolve());
    worker.once('error', (error) => {
      process.emitWarning(`the thread that extends orders failed and is restarted: ${(error as Error).stack}`);
      worker = undefined;
      setTimeout(start, AGAIN_MS).unref();
    });
    post(lastHeartbeat);
    for (const [id, hold] of holds) post({ do: 'hold', id, ...hold });
  };
  setTimeout(start, FIRST_MS).unref();
  const beating = setInterval(() => Atomics.add(pulse, 0, 1), PULSE_MS).unref();

  return {
    ready: ready.promise,

    hold(ack, leftMs, ackWaitMs) {
      // Expired without being released.
      for (const [lost, { until }] of holds) if (Number(Atomics.load(until, 0)) <= monotonicMs()) holds.delete(lost);
      const id = ++last;
      const until = new BigInt64Array(new SharedArrayBuffer(8));
      until[0] = BigInt(Math.floor(monotonicMs() + leftMs));
      holds.set(id, { ack, ackWaitMs, until });
      post({ do: 'hold', id, ack, ackWaitMs, until });
      return {
        isHeld: () => monotonicMs() < Number(Atomics.load(until, 0)),
        extend(left) {
          const later = BigInt(Math.floor(monotonicMs() + left));
          if (Atomics.load(until, 0) < later) Atomics.store(until, 0, later);
        },
        letGo() {
          Atomics.store(until, 0, 0n);
          holds.delete(id);
          post({ do: 'drop', id });
        },
      };
    },

    repeat(subject, text) {
      lastHeartbeat = { do: 'repeat', subject, text };
      post(lastHeartbeat);
    },

    async close() {
      closed = true;
      clearInterval(beating);
      await worker?.terminate();
    },
  };
}
