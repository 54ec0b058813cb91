/** Upload records in NATS JetStream, for any number of processes on any number of machines. */

import { z } from 'zod';
import { RevisionConflict } from '../errors.ts';
import { type BucketEntry, type BucketSpec, ensureBucket, openBucket } from '../nats/bucket.ts';
import type { Nats } from '../nats/connection.ts';
import { oldestIn } from '../nats/oldest.ts';
import { Exceeded, type StoredUpload, type UploadBounds, UploadRecord, type UploadStore } from './store.ts';

const DAY_MS = 24 * 3600_000;
/** Room for 500 parts and the client's metadata. */
const RECORDS: BucketSpec = { name: 'uploads', maxAgeMs: DAY_MS, maxBytes: 64 * 1024 };
const CLIENTS: BucketSpec = { name: 'uploaders', maxAgeMs: DAY_MS, maxBytes: 256 * 1024 };

/** The uploads that a client has begun. Their records say how large each is now, and whether it still counts. */
const Begun = z.array(z.object({ id: z.string(), sizeBytes: z.number(), at: z.number(), expiresAt: z.number() }));
type Begun = z.infer<typeof Begun>;

/** An upload that has no record after this time will get none: the process that began it has died. Ms. */
const CREATION_MS = 60_000;
const CAS_TRIES = 25;

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export async function ensureUploads(nats: Nats, replicas: number): Promise<void> {
  for (const bucket of [RECORDS, CLIENTS]) await ensureBucket(nats, bucket, replicas);
}

/**
 * @param nats stays open when the store is closed
 * @param onUnreadable called for each record that a scan had to skip
 */
export function openNatsUploads(nats: Nats, onUnreadable: (why: Error) => void = (why) => process.emitWarning(why)): UploadStore {
  const records = openBucket(nats, RECORDS.name);
  const clients = openBucket(nats, CLIENTS.name);

  /** The client's uploads that count against its limits: by their records, or as begun while they have no record yet. */
  const counted = async (begun: Begun, now: number): Promise<Begun> => {
    const found = await Promise.all(
      begun.map(async (upload) => {
        const entry = await records.get(upload.id);
        if (entry === undefined) return now - upload.at < CREATION_MS ? upload : undefined;
        const { sizeBytes, expiresAt } = read(entry).record;
        return { ...upload, sizeBytes, expiresAt };
      }),
    );
    return found.flatMap((upload) => (upload !== undefined && upload.expiresAt > now ? [upload] : []));
  };

  /** Updates a client's list by compare-and-swap, with retries. */
  async function change(client: string, next: (begun: Begun) => Promise<Begun> | Begun): Promise<void> {
    for (let tries = 0; tries < CAS_TRIES; tries++) {
      const entry = await clients.get(client);
      const begun = await next(entry === undefined ? [] : Begun.parse(JSON.parse(entry.text)));
      try {
        await clients.put(client, JSON.stringify(begun), entry?.revision ?? 0);
        return;
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
    throw new Error(`a client's list of uploads could not be updated in ${CAS_TRIES} tries`);
  }

  const allowed = async (
    begun: Begun,
    { id, sizeBytes, expiresAt }: UploadRecord,
    { uploads, bytes, now }: UploadBounds,
  ): Promise<Begun> => {
    const held = await counted(begun, now);
    const freeAt = held.length === 0 ? undefined : Math.min(...held.map((upload) => upload.expiresAt));
    if (held.length >= uploads) throw new Exceeded('uploads', uploads, freeAt);
    if (held.reduce((sum, upload) => sum + upload.sizeBytes, sizeBytes) > bytes) throw new Exceeded('bytes', bytes, freeAt);
    return [...held, { id, sizeBytes, at: now, expiresAt }];
  };

  const readable = (entry: BucketEntry): StoredUpload | undefined => {
    try {
      return read(entry);
    } catch (error) {
      onUnreadable(error as Error);
      return undefined;
    }
  };

  return {
    async create(record, bounds) {
      if ((await records.get(record.id)) !== undefined) throw new RevisionConflict('an upload with this id exists already');
      if (bounds !== undefined) await change(record.client, (begun) => allowed(begun, record, bounds));
      return { record, revision: await records.put(record.id, JSON.stringify(record), 0) };
    },
    async get(id) {
      const entry = await records.get(id);
      return entry === undefined ? undefined : read(entry);
    },
    async update(record, revision) {
      // Revision 0 would make the bucket create the record; no stored record has it.
      return { record, revision: await records.put(record.id, JSON.stringify(record), Math.max(1, revision)) };
    },
    async remove(id) {
      for (let tries = 0; tries < CAS_TRIES; tries++) {
        const entry = await records.get(id);
        if (entry === undefined) return;
        try {
          await records.remove(id, entry.revision);
          // A crash before this leaves it counted for a moment longer.
          await change(read(entry).record.client, (begun) => begun.filter((upload) => upload.id !== id));
          return;
        } catch (error) {
          if (!(error instanceof RevisionConflict)) throw error;
        }
      }
      throw new Error(`an upload could not be removed in ${CAS_TRIES} tries`);
    },
    /** Every write extends an upload by one of two times, so those written longest ago expire first, or soon after: reading them suffices. */
    expired(now) {
      return oldestIn(records, (entry) => {
        const stored = readable(entry);
        return stored !== undefined && stored.record.expiresAt <= now ? stored : undefined;
      });
    },
    async *scan() {
      for await (const entry of records.entries()) {
        const stored = readable(entry);
        if (stored !== undefined) yield stored;
      }
    },
    async close() {},
  };
}

function read({ text, revision }: BucketEntry): StoredUpload {
  try {
    return { record: UploadRecord.parse(JSON.parse(text)), revision };
  } catch (cause) {
    throw new Error('the record of an upload cannot be read', { cause });
  }
}
