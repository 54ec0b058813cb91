/** Idempotency records in NATS JetStream, for any number of processes on any number of machines. */
import { RevisionConflict } from '../../errors.ts';
import { type BucketEntry, type BucketSpec, ensureBucket, openBucket } from '../../nats/bucket.ts';
import type { Nats } from '../../nats/connection.ts';
import { oldestIn } from '../../nats/oldest.ts';
import { IDEMPOTENCY_TTL_MS, IdempotencyRecord, type IdempotencyStore } from '../idempotency.ts';

const RECORDS: BucketSpec = { name: 'idempotency', maxAgeMs: 2 * IDEMPOTENCY_TTL_MS, maxBytes: 1_024 };
/** When the servers remove a record by themselves, ms: soon after its TTL by the clock of the process that wrote it. */
const KEPT_MS = IDEMPOTENCY_TTL_MS + 60_000;

/** One of several concurrent claims wins each round: so many at the moment when an old record expires are not to be expected. */
const KEEP_TRIES = 10;

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureIdempotency = (nats: Nats, replicas: number): Promise<void> => ensureBucket(nats, RECORDS, replicas);

/**
 * @param nats stays open when the store is closed
 * @param unreadable called for records that a sweep had to skip
 */
export function openNatsIdempotency(
  nats: Nats,
  unreadable: (found: Error) => void = (found) => process.emitWarning(found),
): IdempotencyStore {
  const bucket = openBucket(nats, RECORDS.name);
  const read = ({ text }: BucketEntry): IdempotencyRecord => IdempotencyRecord.parse(JSON.parse(text));
  const isOld = (record: IdempotencyRecord, now: number): boolean => record.createdAt < now - IDEMPOTENCY_TTL_MS;

  /** @returns whether this call removed it; a record that was replaced meanwhile stays */
  const removeEntry = async ({ key, revision }: BucketEntry): Promise<boolean> => {
    try {
      await bucket.remove(key, revision);
      return true;
    } catch (error) {
      if (error instanceof RevisionConflict) return false;
      throw error;
    }
  };

  return {
    async claim(record) {
      const text = JSON.stringify(IdempotencyRecord.parse(record));
      for (let tries = 0; tries < KEEP_TRIES; tries++) {
        const found = await bucket.get(record.key);
        const kept = found === undefined ? undefined : read(found);
        if (kept !== undefined && !isOld(kept, record.createdAt)) return kept;
        try {
          await bucket.put(record.key, text, found?.revision ?? 0, KEPT_MS);
          return record;
        } catch (error) {
          if (!(error instanceof RevisionConflict)) throw error;
        }
      }
      throw new Error(`an idempotency record could not be kept in ${KEEP_TRIES} tries`);
    },
    async get(key, now) {
      const entry = await bucket.get(key);
      const record = entry === undefined ? undefined : read(entry);
      return record === undefined || isOld(record, now) ? undefined : record;
    },
    async remove(record) {
      const entry = await bucket.get(record.key);
      if (entry !== undefined && entry.text === JSON.stringify(IdempotencyRecord.parse(record))) await removeEntry(entry);
    },
    async sweep(now) {
      const old = oldestIn(bucket, (entry) => {
        try {
          return isOld(read(entry), now) ? entry : undefined;
        } catch (cause) {
          unreadable(new Error('the record of an idempotency key cannot be read', { cause }));
          return undefined;
        }
      });
      let removed = 0;
      for await (const entry of old) if (await removeEntry(entry)) removed++;
      return removed;
    },
    async close() {},
  };
}
