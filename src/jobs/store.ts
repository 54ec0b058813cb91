/** Where job records live: compare-and-swap on revisions, strong reads, and hints of change. */
import type { JobRecord } from './record.ts';

export interface Stored {
  readonly record: JobRecord;
  /** Grows with every write of this record; opaque otherwise. */
  readonly revision: number;
}

export interface JobStore {
  /** @throws Conflict when a record with that id is there */
  create(record: JobRecord): Promise<Stored>;
  /** The latest stored version. */
  get(id: string): Promise<Stored | undefined>;
  /** @throws Conflict when `revision` is no longer the latest, or the record is gone */
  update(record: JobRecord, revision: number): Promise<Stored>;
  /** @throws Conflict when `revision` is no longer the latest; removing what is gone is no error */
  remove(id: string, revision: number): Promise<void>;
  /** Calls back after changes of this record, perhaps too often, perhaps not at all: a hint to read again. @returns the end of it */
  watch(id: string, changed: () => void): () => void;
  /** Every record, in no order, without holding them all; one written during the scan may be missed or be old. */
  scan(): AsyncIterable<Stored>;
  /** Runs `work` if no other process holds the lock of this name; a holder that dies frees it after `ttlMs`. @returns whether it ran */
  withLock(name: string, ttlMs: number, work: () => Promise<void>): Promise<boolean>;
  close(): Promise<void>;
}

/** Somebody else wrote first: read again and decide anew. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}
