/** A batch as it is stored: which jobs were sent together, and in which order. Their own records have their results. */
import { z } from 'zod';

export const BATCH_VERSION = 1;
export const batchIdPattern = /^bat_[0-9a-f]{16}$/;

export const BatchRecord = z.strictObject({
  version: z.literal(BATCH_VERSION),
  id: z.string().regex(batchIdPattern),
  /** Ms since the epoch. */
  createdAt: z.number().int(),
  jobs: z.array(z.string()).min(1).max(100),
});
export type BatchRecord = z.infer<typeof BatchRecord>;

/** Batches never change: they exist or they do not. */
export interface BatchStore {
  /** @throws RevisionConflict if a batch with that id exists */
  create(batch: BatchRecord): Promise<void>;
  get(id: string): Promise<BatchRecord | undefined>;
  /** Removing a missing batch is no error. */
  remove(id: string): Promise<void>;
  /** Batches created before `time`, in no order, without reading the others; one that cannot be read is skipped and reported. */
  createdBefore(time: number): AsyncIterable<BatchRecord>;
  /** Every batch, in no order, without holding them all; one that cannot be read is skipped and reported. */
  scan(): AsyncIterable<BatchRecord>;
  close(): Promise<void>;
}
