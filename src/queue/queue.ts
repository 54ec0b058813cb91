/** Waiting orders: one queue per pool with two lanes, shared fairly by clients; each order has one holder at a time until that one calls `done`. */
import type { Lane, Order } from '../contracts/messages/order.ts';

/** A holder that does not extend its order for this long loses it: it is redelivered, ms. */
export const ACK_WAIT_MS = 30_000;

export interface Queue {
  /** Idempotent per job: while an order of this job waits or is held, a second is `duplicate`. `full`: nothing was stored. */
  publish(order: Order, about?: OrderFacts): Promise<'accepted' | 'duplicate' | 'full'>;
  /**
   * The next order of the first lane that has one, waiting up to `waitMs` for it. Within a lane clients take turns: a client with few
   * orders in the pool does not wait for those with many, and none waits for ever.
   * @returns undefined if none came in time or `signal` was aborted
   */
  pull(pool: string, lanes: readonly Lane[], waitMs: number, signal?: AbortSignal): Promise<Delivery | undefined>;
  /**
   * The next order that may start beside full slots, of either lane: small, never delivered before, and of a client that holds none. Waits
   * as `pull` does.
   */
  pullExpress(pool: string, waitMs: number, signal?: AbortSignal): Promise<Delivery | undefined>;
  /** Removes an order, waiting or held: its holder's next `extend` returns `gone`. Not an error if there is none. */
  remove(pool: string, jobId: string): Promise<void>;
  /** Whether an order of this job waits or is held. */
  has(pool: string, jobId: string): Promise<boolean>;
  /** All jobs of which an order waits or is held: a snapshot taken during the call, or a little earlier. */
  jobs(pool: string): Promise<ReadonlySet<string>>;
  depth(pool: string): Promise<Depth>;
  close(): Promise<void>;
}

/** What decides when an order is taken. */
export interface OrderFacts {
  /** Whose share of the pool it counts towards, as identified for limits; orders without one count as one client's. */
  readonly client?: string;
  /** Whether an express slot may take it; unset: no. */
  readonly isSmall?: boolean;
}

export interface Delivery {
  readonly order: Order;
  /** Whether the order was delivered before: its last holder may still believe that it holds it. */
  readonly redelivered: boolean;
  /** It may have been delivered to another meanwhile: a job that a worker runs must not be claimed for it. */
  readonly late?: boolean;
  /**
   * It may have come here only because its holder's first word was heard late: a job that was claimed a moment ago is left to the worker that claimed it.
   * Unset where an order goes on after the whole ack wait alone.
   */
  readonly contested?: boolean;
  /** Holds it for another `ACK_WAIT_MS`. `gone`: removed, or lost to another puller. */
  extend(): Promise<'held' | 'gone'>;
  /**
   * After `gone`, for a worker whose claim is still the job's last: holds the order for another `ACK_WAIT_MS`. Another who was given it
   * meanwhile keeps it for that long, too. Unset where `gone` means that it is another's.
   */
  regain?(): Promise<void>;
  /** Another worker holds it: this one extends and acknowledges it no more. Unset where the queue ignores former holders. */
  forgo?(): void;
  /** Releases it, to be redelivered after `delayMs`. */
  release(delayMs: number): Promise<void>;
  /**
   * Whether a client that holds no order waits for a slot such as this order's: for an order that was never delivered, and is small if this
   * one came from `pullExpress`.
   */
  isWaitedFor(): Promise<boolean>;
  /** Whether its client has other orders in the pool, as far as that is known. */
  isOneOfSeveral(): Promise<boolean>;
  /** Releases it behind what waits: in the lane `bulk`, and no longer for an express slot. */
  giveWay(): Promise<void>;
  /** The job has ended: removes the order. */
  done(): Promise<void>;
}

export interface Depth {
  readonly waiting: number;
  /** An order that its holder lost, or released with a delay, may count until it is redelivered. */
  readonly held: number;
  /** Age of the order that waits longest, ms; undefined if none waits. */
  readonly oldestMs: number | undefined;
}
