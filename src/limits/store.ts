/** Where clients are remembered: one small record each, changed by compare-and-swap, with nothing that spans two of them. */
import type { ClientRecord } from './record.ts';

export interface Stored {
  readonly record: ClientRecord;
  /** Of this version of the record; opaque. */
  readonly revision: number;
}

export interface LimitStore {
  /** A stored version, as a rule the latest: an older one makes the next `put` fail. */
  get(key: string): Promise<Stored | undefined>;
  /**
   * @param revision that was read; undefined where there was none
   * @param lapsesAt when the record may be forgotten, ms since the epoch
   * @throws Conflict when the record was written, made or forgotten since
   */
  put(key: string, record: ClientRecord, revision: number | undefined, lapsesAt: number): Promise<void>;
  close(): Promise<void>;
}
