/** Waiting orders: one queue per pool with two lanes, shared fairly by clients; each order is handed to one puller at a time until it says done. */
import type { Lane, Order } from '../contracts/messages/order.ts';

/** A puller that says nothing for this long has lost its order: another gets it. */
export const ACK_WAIT_MS = 30_000;

export interface Queue {
  /**
   * Idempotent per job: while an order of this job waits or is held, a second is `duplicate`. `full`: nothing was stored.
   * @param client whose share of the pool it counts towards, as limits know clients; those published without one share as one client
   */
  publish(order: Order, client?: string): Promise<'accepted' | 'duplicate' | 'full'>;
  /**
   * The next order of the first lane that has one, waiting up to `waitMs` for it. Within a lane clients take turns: whoever has little in the
   * pool does not wait for those who have much, and nobody waits for ever.
   * @returns undefined when none came in time or `signal` was aborted
   */
  pull(pool: string, lanes: readonly Lane[], waitMs: number, signal?: AbortSignal): Promise<Delivery | undefined>;
  /** Takes an order out, waiting or held: its holder's next `extend` says `gone`. Not an error when there is none. */
  remove(pool: string, jobId: string): Promise<void>;
  /** Whether an order of this job waits or is held. */
  has(pool: string, jobId: string): Promise<boolean>;
  /** The jobs of which an order waits or is held, all at once: as it was at some moment of the call, or a little earlier. */
  jobs(pool: string): Promise<ReadonlySet<string>>;
  depth(pool: string): Promise<Depth>;
  close(): Promise<void>;
}

export interface Delivery {
  readonly order: Order;
  /** Whether the order was handed out before: its last holder may still believe in it. */
  readonly redelivered: boolean;
  /** Holds it for another `ACK_WAIT_MS`. `gone`: removed, or lost to another puller. */
  extend(): Promise<'held' | 'gone'>;
  /** Gives it back, to be handed out again after `delayMs`. */
  release(delayMs: number): Promise<void>;
  /** The job has ended: the order goes away. */
  done(): Promise<void>;
}

export interface Depth {
  readonly waiting: number;
  /** An order whose holder fell silent, or gave it back for later, may count until it is handed out again. */
  readonly held: number;
  /** Age of the order that waits longest, ms; undefined when none waits. */
  readonly oldestMs: number | undefined;
}
