/** Deeds in NATS JetStream, for any number of processes on any number of machines. */
import { type BucketSpec, type Entry, ensureBucket, Outrun, openBucket } from '../nats/bucket.ts';
import type { Nats } from '../nats/connection.ts';
import { oldestIn } from '../nats/oldest.ts';
import { Deed, type DeedStore, REPEATABLE_MS } from './idempotency.ts';

const DEEDS: BucketSpec = { name: 'deeds', maxAgeMs: 2 * REPEATABLE_MS, maxBytes: 1_024 };
/** The servers remove a deed by themselves, soon after its time by the clock of the one who kept it, ms. */
const KEPT_MS = REPEATABLE_MS + 60_000;

/** Of those who come at once, one wins each round: so many that come together with an old deed's end would be a wonder. */
const KEEP_TRIES = 10;

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureDeeds = (nats: Nats, replicas: number): Promise<void> => ensureBucket(nats, DEEDS, replicas);

/**
 * @param nats stays open when the store is closed
 * @param unreadable is told of records that a sweep had to skip
 */
export function openDeeds(nats: Nats, unreadable: (found: Error) => void = (found) => process.emitWarning(found)): DeedStore {
  const bucket = openBucket(nats, DEEDS.name);
  const read = ({ text }: Entry): Deed => Deed.parse(JSON.parse(text));
  const isOld = (deed: Deed, now: number): boolean => deed.madeAt < now - REPEATABLE_MS;

  /** @returns whether it is gone by this call; a deed that was replaced meanwhile stays */
  const forget = async ({ key, revision }: Entry): Promise<boolean> => {
    try {
      await bucket.remove(key, revision);
      return true;
    } catch (error) {
      if (error instanceof Outrun) return false;
      throw error;
    }
  };

  return {
    async keep(deed) {
      const text = JSON.stringify(Deed.parse(deed));
      for (let tries = 0; tries < KEEP_TRIES; tries++) {
        const found = await bucket.get(deed.key);
        const kept = found === undefined ? undefined : read(found);
        if (kept !== undefined && !isOld(kept, deed.madeAt)) return kept;
        try {
          await bucket.put(deed.key, text, found?.revision ?? 0, KEPT_MS);
          return deed;
        } catch (error) {
          if (!(error instanceof Outrun)) throw error;
        }
      }
      throw new Error(`a deed could not be kept in ${KEEP_TRIES} tries`);
    },
    async get(key, now) {
      const entry = await bucket.get(key);
      const deed = entry === undefined ? undefined : read(entry);
      return deed === undefined || isOld(deed, now) ? undefined : deed;
    },
    async remove(deed) {
      const entry = await bucket.get(deed.key);
      if (entry !== undefined && entry.text === JSON.stringify(Deed.parse(deed))) await forget(entry);
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
      let forgotten = 0;
      for await (const entry of old) if (await forget(entry)) forgotten++;
      return forgotten;
    },
    async close() {},
  };
}
