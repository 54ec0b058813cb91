/** The interface of stores of client records: one small record per client, changed by compare-and-swap; nothing spans two records. */
import type { ClientRecord } from './record.ts';

export interface StoredClient {
  readonly record: ClientRecord;
  /** Revision of this version of the record; opaque. */
  readonly revision: number;
}

export interface LimitStore {
  /** A stored version, usually the latest: with an older one the next `put` fails. */
  get(key: string): Promise<StoredClient | undefined>;
  /**
   * @param revision that was read; undefined where there was none
   * @param lapsesAt when the record may be deleted, ms since the epoch
   * @throws RevisionConflict when the record was written, created or deleted since
   */
  put(key: string, record: ClientRecord, revision: number | undefined, lapsesAt: number): Promise<void>;
  /** Every client, in no order, without holding them all. */
  scan(): AsyncIterable<{ readonly key: string; readonly record: ClientRecord }>;
  close(): Promise<void>;
}
