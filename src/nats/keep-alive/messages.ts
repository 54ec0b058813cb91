/** What a thread and the one that keeps its messages alive tell each other, and the clock that both read. */

/** What the thread knows from its start. */
export interface KeptAlive {
  /** As `connectNats` takes it. */
  readonly connection: object;
  /** Changes each second while the other thread is not held. */
  readonly pulse: Int32Array<SharedArrayBuffer>;
  /** After which a held thread's process is killed. */
  readonly stallMs: number;
}

export interface Hold {
  /** Where the message's consumer is told that it is worked on. */
  readonly ack: string;
  readonly ackWaitMs: number;
  /** By `monotonicMs`; 0 once it was let go. Whichever thread was heard last writes it. */
  readonly until: BigInt64Array<SharedArrayBuffer>;
}

export type ToThread =
  | ({ readonly do: 'hold'; readonly id: number } & Hold)
  | { readonly do: 'drop'; readonly id: number }
  | { readonly do: 'repeat'; readonly subject: string; readonly text: string };

/** One clock for all threads, which nobody sets: each thread's `performance.now` counts from its own start. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
