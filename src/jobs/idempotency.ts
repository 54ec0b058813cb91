/** What a request with an `Idempotency-Key` created: kept under that key, so that a repeated request gets the same answer. */
import { z } from 'zod';
import { batchIdPattern } from './batch.ts';

export const IDEMPOTENCY_VERSION = 1;
/** How long a second request is answered with what the first one created, ms. */
export const IDEMPOTENCY_TTL_MS = 2 * 3600_000;

export const IdempotencyRecord = z.strictObject({
  version: z.literal(IDEMPOTENCY_VERSION),
  /** A mark of the client and its key: keys may be guessable, and may say more than we want to keep. */
  key: z.string().regex(/^[0-9a-f]{64}$/),
  /** A mark of all that was sent. */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** The job or the batch. */
  resourceId: z.union([z.string().regex(/^[0-9a-f]{32}$/), z.string().regex(batchIdPattern)]),
  /** Ms since the epoch. */
  createdAt: z.number().int(),
});
export type IdempotencyRecord = z.infer<typeof IdempotencyRecord>;

export interface IdempotencyStore {
  /**
   * Keeps an idempotency record, unless one not older than `IDEMPOTENCY_TTL_MS` is kept under its key: of many at once exactly one is.
   * @returns what is kept now
   */
  claim(record: IdempotencyRecord): Promise<IdempotencyRecord>;
  /** The idempotency record under this key, unless it is older than `IDEMPOTENCY_TTL_MS` at `now`. */
  get(key: string, now: number): Promise<IdempotencyRecord | undefined>;
  /** Forgets an idempotency record, if it is still this one. */
  remove(record: IdempotencyRecord): Promise<void>;
  /** Forgets every idempotency record that is too old at `now`, but for those that it cannot read. @returns how many */
  sweep(now: number): Promise<number>;
  close(): Promise<void>;
}
