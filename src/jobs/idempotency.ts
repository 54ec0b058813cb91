/** What a request with an `Idempotency-Key` created: kept under that key, so that a repeated request gets the same answer. */
import { z } from 'zod';
import { batchIdPattern } from './batch.ts';

export const IDEMPOTENCY_VERSION = 1;
/** How long a repeated request is answered with what the first one created, ms. */
export const IDEMPOTENCY_TTL_MS = 2 * 3600_000;

export const IdempotencyRecord = z.strictObject({
  version: z.literal(IDEMPOTENCY_VERSION),
  /** An HMAC of the client and its key: keys may be guessable, and may contain what we do not want to store. */
  key: z.string().regex(/^[0-9a-f]{64}$/),
  /** An HMAC of the whole request. */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** The job or the batch. */
  resourceId: z.union([z.string().regex(/^[0-9a-f]{32}$/), z.string().regex(batchIdPattern)]),
  /** Ms since the epoch. */
  createdAt: z.number().int(),
});
export type IdempotencyRecord = z.infer<typeof IdempotencyRecord>;

export interface IdempotencyStore {
  /**
   * Stores an idempotency record, unless its key has one not older than `IDEMPOTENCY_TTL_MS`: of concurrent claims exactly one wins.
   * @returns the stored record
   */
  claim(record: IdempotencyRecord): Promise<IdempotencyRecord>;
  /** The idempotency record under this key, unless it is older than `IDEMPOTENCY_TTL_MS` at `now`. */
  get(key: string, now: number): Promise<IdempotencyRecord | undefined>;
  /** Removes an idempotency record, if it is still this one. */
  remove(record: IdempotencyRecord): Promise<void>;
  /** Removes every idempotency record that is too old at `now`, except those that it cannot read. @returns how many */
  sweep(now: number): Promise<number>;
  close(): Promise<void>;
}
