/** Where it is kept how far each upload is: compare-and-swap on revisions. The bytes themselves are objects. */
import { z } from 'zod';
import { uploadIdPattern } from '../contracts/api/upload.ts';

export const UPLOAD_VERSION = 1;

/** Of one upload. A whole file may come in this many pieces: the record stays small, and so does the number of objects. */
export const MAX_PARTS = 500;

/** Bytes of what a client says about its file, as it says it. */
export const MAX_METADATA = 4_096;

const bytes = z.number().int().min(0);

export const UploadRecord = z.strictObject({
  version: z.literal(UPLOAD_VERSION),
  id: z.string().regex(uploadIdPattern),
  /** The client's key, as limits keep it. */
  client: z.string(),
  /** Clean. */
  filename: z.string(),
  /** What came with it by tus, which says it again to whoever asks. */
  metadata: z.record(z.string(), z.string().nullable()).optional(),
  /** Of the whole file. Until a form has come to its end, the most that it may hold. */
  sizeBytes: bytes,
  /** What is there, in order: the name of an object below the upload, and its size. */
  parts: z.array(z.tuple([z.string(), bytes])).max(MAX_PARTS),
  /** All bytes are there. */
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

/** What a client may have at a time. */
export interface Bounds {
  readonly uploads: number;
  readonly bytes: number;
  /** Ms since the epoch: what has expired by then does not count. */
  readonly now: number;
}

export interface UploadStore {
  /**
   * Of many at once, no more are created than the bounds allow; sizes count in full from the beginning.
   * @throws Conflict when a record with that id is there · Exceeded
   */
  create(record: UploadRecord, bounds: Bounds): Promise<StoredUpload>;
  /** The latest stored version. */
  get(id: string): Promise<StoredUpload | undefined>;
  /** @throws Conflict when `revision` is no longer the latest, or the record is gone */
  update(record: UploadRecord, revision: number): Promise<StoredUpload>;
  /** Removing what is gone is no error. */
  remove(id: string): Promise<void>;
  /** Those that expired, in no order, without reading the others; one that cannot be read is passed over, and reported. */
  expired(now: number): AsyncIterable<StoredUpload>;
  /** Every record, in no order, without holding them all; one written during the scan may be missed or be old. */
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
