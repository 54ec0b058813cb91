/** What upkeep knows of one job when it decides, and what it may decide. */
import type { Order } from '../contracts/messages/order.ts';
import type { JobRecord } from '../jobs/record.ts';

/** Times in ms since the epoch, durations in ms. */
export interface Seen {
  readonly now: number;
  readonly record: JobRecord;
  /** Whether an order of the job waits or is held; queried only for unfinished jobs. */
  readonly hasOrder: boolean;
  /** The job's objects, listed before the record was read; undefined where they could not be listed. */
  readonly keys: readonly string[] | undefined;
  /** How long a job may wait. */
  readonly queueMs: number;
  /** Since when no other process has used these stores, where that is known: what was left unfinished before has no owner any more. */
  readonly aloneSince?: number | undefined;
}

export type SweepAction =
  | { readonly do: 'delete'; readonly keys: readonly string[] }
  | { readonly do: 'publish'; readonly order: Order }
  /** Finish an interrupted move to another pool. */
  | { readonly do: 'move' }
  | { readonly do: 'fail'; readonly failed: JobRecord }
  /** Its files are being fetched. */
  | { readonly do: 'wait' }
  /** Remove the record itself. */
  | { readonly do: 'forget' };
