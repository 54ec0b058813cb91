/** Clients' limits in NATS JetStream, for any number of replicas. */
import { type BucketSpec, ensureBucket, openBucket } from '../nats/bucket.ts';
import type { Nats } from '../nats/connection.ts';
import type { LimitStore } from './store.ts';
import { clientFromText, clientToText } from './text.ts';

/** Each record has its own expiry. Forty slots fill a few kilobytes; for an address that many clients share, a multiple of that. */
const CLIENTS: BucketSpec = { name: 'clients', maxBytes: 512 * 1024 };

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureLimits = (nats: Nats, replicas: number): Promise<void> => ensureBucket(nats, CLIENTS, replicas);

/**
 * @param nats stays open when the store is closed
 * @param clock ms since the epoch
 * @param onUnreadable called for each record that is reset because it cannot be read
 */
export function openNatsLimits(
  nats: Nats,
  clock: () => number,
  onUnreadable: (found: Error) => void = (found) => process.emitWarning(found),
): LimitStore {
  const bucket = openBucket(nats, CLIENTS.name);
  return {
    async get(key) {
      const entry = await bucket.get(key);
      return entry === undefined ? undefined : { record: clientFromText(key, entry.text, onUnreadable), revision: entry.revision };
    },
    async put(key, record, revision, lapsesAt) {
      await bucket.put(key, clientToText(record), revision ?? 0, lapsesAt - clock());
    },
    async *scan() {
      for await (const { key, text } of bucket.entries()) yield { key, record: clientFromText(key, text, onUnreadable) };
    },
    async close() {},
  };
}
