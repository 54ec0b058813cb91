/** The interface of stores of upload records, which change by compare-and-swap on revisions. The uploaded bytes are objects. */
import { z } from 'zod';
import { uploadIdPattern } from '../contracts/api/upload.ts';

export const UPLOAD_VERSION = 1;

/** Parts of one upload. The bound keeps the record small, and the number of objects. */
export const MAX_PARTS = 500;

/** Size of the header `Upload-Metadata`, bytes. */
export const MAX_METADATA = 4_096;

const bytes = z.number().int().min(0);

export const UploadRecord = z.strictObject({
  version: z.literal(UPLOAD_VERSION),
  id: z.string().regex(uploadIdPattern),
  /** The client's key in the limits. */
  client: z.string(),
  /** Cleaned by `cleanName`. */
  filename: z.string(),
  /** Metadata of tus, which returns it to clients. */
  metadata: z.record(z.string(), z.string().nullable()).optional(),
  /** Size of the whole file. For an upload by form that has not ended: the largest allowed. */
  sizeBytes: bytes,
  /** The stored parts in order: the name of each object below the upload, and its size. */
  parts: z.array(z.tuple([z.string(), bytes])).max(MAX_PARTS),
  /** All bytes are stored. */
  finished: z.boolean(),
  /** Ms since the epoch. */
  createdAt: z.number().int(),
  expiresAt: z.number().int(),
});
export type UploadRecord = z.infer<typeof UploadRecord>;

export interface StoredUpload {
  readonly record: UploadRecord;
  /** Grows with every write of this record; opaque otherwise. */
  readonly revision: number;
}

/** What a client may have at the same time. */
export interface UploadBounds {
  readonly uploads: number;
  readonly bytes: number;
  /** Ms since the epoch: uploads that have expired by then do not count. */
  readonly now: number;
}

export interface UploadStore {
  /**
   * Without bounds nothing is counted. Concurrent calls together create no more than the bounds allow; sizes count in full from the beginning.
   * @throws RevisionConflict when a record with that id exists · Exceeded
   */
  create(record: UploadRecord, bounds: UploadBounds | undefined): Promise<StoredUpload>;
  /** The latest stored version. */
  get(id: string): Promise<StoredUpload | undefined>;
  /** @throws RevisionConflict when `revision` is no longer the latest, or the record was removed */
  update(record: UploadRecord, revision: number): Promise<StoredUpload>;
  /** Removing a missing record is no error. */
  remove(id: string): Promise<void>;
  /** The expired records, in no order, without reading the others. Unreadable ones are skipped and reported. */
  expired(now: number): AsyncIterable<StoredUpload>;
  /** Every record, in no order, without holding all in memory. One that is written during the scan may be missed or outdated. */
  scan(): AsyncIterable<StoredUpload>;
  close(): Promise<void>;
}

export class Exceeded extends Error {
  override readonly name = 'Exceeded';
  readonly bound: 'uploads' | 'bytes';
  readonly limit: number;
  /** When the first of the client's uploads expires, ms since the epoch; undefined where it has none. */
  readonly freeAt: number | undefined;
  constructor(bound: 'uploads' | 'bytes', limit: number, freeAt: number | undefined) {
    super(`the client may have ${limit} ${bound}`);
    this.bound = bound;
    this.limit = limit;
    this.freeAt = freeAt;
  }
}
