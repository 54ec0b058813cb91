/** Messages from a thread to the one that keeps its deliveries alive, and the clock that both read. */

/** What the keep-alive thread gets at its start. */
export interface KeptAlive {
  /** The settings for `connectNats`. */
  readonly connection: object;
  /** Changes each second while the other thread is not blocked. */
  readonly pulse: Int32Array<SharedArrayBuffer>;
  /** A process whose thread is blocked for this long is killed. */
  readonly stallMs: number;
}

export interface MessageHold {
  /** The message's ack subject. */
  readonly ack: string;
  readonly ackWaitMs: number;
  /** By `monotonicMs`; 0 once released. Written by the thread that was confirmed last. */
  readonly until: BigInt64Array<SharedArrayBuffer>;
}

export type ToThread =
  | ({ readonly do: 'hold'; readonly id: number } & MessageHold)
  | { readonly do: 'drop'; readonly id: number }
  | { readonly do: 'repeat'; readonly subject: string; readonly text: string };

/** One monotonic clock for all threads: each thread's `performance.now` counts from its own start. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
