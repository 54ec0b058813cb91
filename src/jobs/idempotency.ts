/** What a request made that may be sent again: kept under the key that its client gave it. */
import { z } from 'zod';
import { batchIdPattern } from './batch.ts';

export const DEED_VERSION = 1;
/** How long a second request is answered with what the first one made, ms. */
export const REPEATABLE_MS = 2 * 3600_000;

export const Deed = z.strictObject({
  version: z.literal(DEED_VERSION),
  /** A mark of the client and its key: keys may be guessable, and may say more than we want to keep. */
  key: z.string().regex(/^[0-9a-f]{64}$/),
  /** A mark of all that was sent. */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** The job or the batch. */
  made: z.union([z.string().regex(/^[0-9a-f]{32}$/), z.string().regex(batchIdPattern)]),
  /** Ms since the epoch. */
  madeAt: z.number().int(),
});
export type Deed = z.infer<typeof Deed>;

export interface DeedStore {
  /**
   * Keeps a deed, unless one not older than `REPEATABLE_MS` is kept under its key: of many at once exactly one is.
   * @returns what is kept now
   */
  keep(deed: Deed): Promise<Deed>;
  /** The deed under this key, unless it is older than `REPEATABLE_MS` at `now`. */
  get(key: string, now: number): Promise<Deed | undefined>;
  /** Forgets a deed, if it is still this one. */
  remove(deed: Deed): Promise<void>;
  /** Forgets every deed that is too old at `now`, but for those that it cannot read. @returns how many */
  sweep(now: number): Promise<number>;
  close(): Promise<void>;
}
