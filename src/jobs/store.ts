/** Where job records live: compare-and-swap on revisions, strong reads, and hints of change. */
import type { JobRecord } from './record.ts';

export interface Stored {
  readonly record: JobRecord;
  /** Grows with every write of this record; opaque otherwise. */
  readonly revision: number;
}

/** A job that upkeep has to look at, perhaps without need: only its record tells. */
export interface Due {
  readonly id: string;
  /** Undefined where the record does not say. */
  readonly pool: string | undefined;
  /** Ms since the epoch; 0 where it is not known. */
  readonly createdAt: number;
  /**
   * Upkeep need not look again before `until`, ms since the epoch, or ever: what is written since it was found due is due all the same.
   */
  settle(until?: number): Promise<void>;
}

export interface JobStore {
  /** @throws Conflict when a record with that id is there */
  create(record: JobRecord): Promise<Stored>;
  /** The latest stored version. @param pool where it is known, by which the record is found faster */
  get(id: string, pool?: string): Promise<Stored | undefined>;
  /** @throws Conflict when `revision` is no longer the latest, or the record is gone */
  update(record: JobRecord, revision: number): Promise<Stored>;
  /**
   * Takes a record that `leave` has marked to the pool that it names: whatever stops it midway, the record is found all the while, and
   * the same call again ends the move.
   * @throws Conflict when `revision` is no longer the latest: it then stays where it is
   */
  move(left: JobRecord, revision: number): Promise<Stored>;
  /** @throws Conflict when `revision` is no longer the latest; removing what is gone is no error */
  remove(id: string, revision: number, pool?: string): Promise<void>;
  /** Calls back after changes of this record, perhaps too often, perhaps not at all: a hint to read again. @returns unsubscribe */
  watch(id: string, changed: () => void): () => void;
  /** Every record, in no order, without holding them all; one written during the scan may be missed or be old. */
  scan(): AsyncIterable<Stored>;
  /**
   * What upkeep has to look at: every record that has not ended, every one that was written since it was last settled, and every one whose
   * time has come. An entry may come without its record, where a crash left it, and rarely twice. Nothing else is read, however much is kept.
   * @param now ms since the epoch
   */
  due(now: number): AsyncIterable<Due>;
  /** Runs `work` if no other process holds the lock of this name; a holder that dies frees it after `ttlMs`. @returns whether it ran */
  withLock(name: string, ttlMs: number, work: () => Promise<void>): Promise<boolean>;
  close(): Promise<void>;
}
