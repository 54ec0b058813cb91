/** A batch as it is stored: which jobs were sent together, and in which order. What became of them stands in their own records. */
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

/** Batches never change: they are there, or they are not. */
export interface BatchStore {
  /** @throws Conflict when a batch with that id is there */
  create(batch: BatchRecord): Promise<void>;
  get(id: string): Promise<BatchRecord | undefined>;
  /** Removing what is gone is no error. */
  remove(id: string): Promise<void>;
  /** Those that were created before, in no order, without reading the others; one that cannot be read is passed over, and reported. */
  createdBefore(time: number): AsyncIterable<BatchRecord>;
  /** Every batch, in no order, without holding them all; one that cannot be read is passed over, and reported. */
  scan(): AsyncIterable<BatchRecord>;
  close(): Promise<void>;
}
