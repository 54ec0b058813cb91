/** The store of job records: compare-and-swap on revisions, strong reads, and hints of changes. */
import type { JobRecord } from './record.ts';

export interface Stored {
  readonly record: JobRecord;
  /** Grows with every write of this record; opaque otherwise. */
  readonly revision: number;
}

/** A job that upkeep must check, perhaps needlessly: only its record tells. */
export interface Due {
  readonly id: string;
  /** Undefined if the record has none or cannot be read. */
  readonly pool: string | undefined;
  /** Ms since the epoch; 0 if unknown. */
  readonly createdAt: number;
  /**
   * Upkeep need not check it again before `until`, ms since the epoch, or ever if omitted: a record written since it was found due stays due.
   */
  settle(until?: number): Promise<void>;
}

/** Where records are written a few milliseconds after they are changed: what tells of a change has it written first (docs/decisions/0077). */
export interface Durability {
  /** How often changes that were made, and not yet written, were lost: the disk was full. */
  readonly losses: number;
  /** Writes all changes so far. @param since `losses` when the caller began: what it knows may be gone since @throws the reason why it cannot be told */
  commit(since?: number): void;
}

export interface JobStore {
  /** @throws RevisionConflict if a record with that id exists */
  create(record: JobRecord): Promise<Stored>;
  /** The latest stored version. @param pool if known: the record is then found faster */
  get(id: string, pool?: string): Promise<Stored | undefined>;
  /** @throws RevisionConflict if `revision` is no longer the latest, or the record was removed */
  update(record: JobRecord, revision: number): Promise<Stored>;
  /**
   * Moves a record that `leave` or `passOn` has marked to the pool that it names, which may be the one that it is in. If it is interrupted, the record can still be found, and the same
   * call again completes the move.
   * @throws RevisionConflict if `revision` is no longer the latest: the record then stays where it is
   */
  move(left: JobRecord, revision: number): Promise<Stored>;
  /** @throws RevisionConflict if `revision` is no longer the latest; removing a missing record is no error */
  remove(id: string, revision: number, pool?: string): Promise<void>;
  /** Calls back after changes of this record, perhaps too often, perhaps not at all: a hint to read again. @returns unsubscribe */
  watch(id: string, changed: () => void): () => void;
  /** Every record, in no order, without holding them all; one written during the scan may be missed or be old. */
  scan(): AsyncIterable<Stored>;
  /**
   * The jobs that upkeep must check: every one that has not ended, was written since it was last settled, or has reached its time. After a
   * crash an entry may come without its record, and rarely one comes twice. Reads nothing else, however much is stored.
   * @param now ms since the epoch
   */
  due(now: number): AsyncIterable<Due>;
  /** Runs `work` if no other process holds the lock of this name; the lock of a dead holder expires after `ttlMs`. @returns whether it ran */
  withLock(name: string, ttlMs: number, work: () => Promise<void>): Promise<boolean>;
  close(): Promise<void>;
}
