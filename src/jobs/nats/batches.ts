/** Batches in NATS JetStream, for any number of processes on any number of machines. */
import { type BucketEntry, type BucketSpec, ensureBucket, openBucket } from '../../nats/bucket.ts';
import type { Nats } from '../../nats/connection.ts';
import { oldestIn } from '../../nats/oldest.ts';
import { BatchRecord, type BatchStore } from '../batch.ts';

/** A hundred ids of 32 digits, and room to grow. */
const BATCHES: BucketSpec = { name: 'batches', maxAgeMs: 7 * 24 * 3600_000, maxBytes: 16_384 };

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureBatches = (nats: Nats, replicas: number): Promise<void> => ensureBucket(nats, BATCHES, replicas);

/**
 * @param nats stays open when the store is closed
 * @param unreadable called for records that a scan had to skip
 */
export function openNatsBatches(nats: Nats, unreadable: (found: Error) => void = (found) => process.emitWarning(found)): BatchStore {
  const bucket = openBucket(nats, BATCHES.name);
  const read = ({ text }: BucketEntry): BatchRecord => BatchRecord.parse(JSON.parse(text));
  const readable = (entry: BucketEntry): BatchRecord | undefined => {
    try {
      return read(entry);
    } catch (cause) {
      unreadable(new Error(`the record of batch ${entry.key} cannot be read`, { cause }));
      return undefined;
    }
  };
  return {
    async create(batch) {
      await bucket.put(batch.id, JSON.stringify(BatchRecord.parse(batch)), 0);
    },
    async get(id) {
      const entry = await bucket.get(id);
      return entry === undefined ? undefined : read(entry);
    },
    async remove(id) {
      const entry = await bucket.get(id);
      if (entry !== undefined) await bucket.remove(id, entry.revision);
    },
    /** Batches never change, so the oldest come first. */
    createdBefore(time) {
      return oldestIn(bucket, (entry) => {
        const batch = readable(entry);
        return batch !== undefined && batch.createdAt < time ? batch : undefined;
      });
    },
    async *scan() {
      for await (const entry of bucket.entries()) {
        const batch = readable(entry);
        if (batch !== undefined) yield batch;
      }
    },
    async close() {},
  };
}
