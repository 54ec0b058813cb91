/** Job records in NATS JetStream, for any number of processes on any number of machines. */

import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { RevisionConflict } from '../../errors.ts';
import { type BucketEntry, type BucketSpec, ensureBucket, openBucket } from '../../nats/bucket.ts';
import type { Nats } from '../../nats/connection.ts';
import { tokenOf } from '../../nats/token.ts';
import { arrive } from '../lifecycle.ts';
import type { JobRecord } from '../record.ts';
import type { JobStore, Stored } from '../store.ts';
import { fromText, MAX_RECORD_BYTES, toText, type Unreadable } from '../text.ts';
import { ensureAgenda, openAgenda, openEntry } from './agenda.ts';
import { dueOver } from './due.ts';
import { lockOver } from './lock.ts';

/** Longer than a job waits, runs, is served and has a tombstone after its last write, ms: upkeep removes it before that. */
const KEPT_MS = 7 * 24 * 3600_000;
const LOCK_KEPT_MS = 24 * 3600_000;
/** Headers of a message count too. */
const HEADERS_BYTES = 1_024;

const JOBS: BucketSpec = { name: 'jobs', maxAgeMs: KEPT_MS, maxBytes: MAX_RECORD_BYTES + HEADERS_BYTES };
/** The stream under the bucket of records. */
export const JOBS_STREAM = 'KV_jobs';
const LOCKS: BucketSpec = { name: 'locks', maxAgeMs: LOCK_KEPT_MS, maxBytes: HEADERS_BYTES };

/** Creates the buckets, or updates them to their current shape. @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export async function ensureJobs(nats: Nats, replicas: number): Promise<void> {
  for (const bucket of [JOBS, LOCKS]) await ensureBucket(nats, bucket, replicas);
  await ensureAgenda(nats, replicas);
}

interface JobsDeps {
  /** Called for records that a scan had to skip, and for locks that could not be renewed or released. */
  readonly report?: (found: Unreadable | Error) => void;
  /** By which locks expire, ms since the epoch; by default the server's. */
  readonly clock?: () => Promise<number>;
}

/** @param nats stays open when the store is closed @throws Unavailable from every method, if NATS does not respond in time */
export function openNatsJobs(nats: Nats, deps: JobsDeps = {}): JobStore {
  const bucket = openBucket(nats, JOBS.name);
  const locks = openBucket(nats, LOCKS.name);
  const { report = (found) => process.emitWarning(found), clock = locks.now } = deps;
  const agenda = openAgenda(nats);
  const changes = new EventEmitter().setMaxListeners(0);
  let unsubscribe: (() => void) | undefined;
  /** Subscribes at the first `watch`: workers never watch, and thousands of them must not receive every write. */
  const subscribe = () => {
    unsubscribe ??= bucket.onChange((key) => {
      for (const event of key === undefined ? changes.eventNames() : [eventOf(idIn(key))]) changes.emit(event);
    });
  };

  return {
    async create(record) {
      // The put below would not conflict with a record of another pool.
      const [found] = await Promise.all([bucket.getByEnding(record.id), agenda.add(openEntry(record))]);
      if (found !== undefined) throw new RevisionConflict(`job ${record.id} exists already`);
      return { record, revision: await bucket.put(keyOf(record), toText(record), 0) };
    },

    async get(id, pool) {
      const entry = await (pool === undefined ? bucket.getByEnding(id) : bucket.get(`${pool}.${id}`));
      return entry === undefined ? undefined : storedIn(entry);
    },

    async update(record, revision) {
      // Its files must be removed now, and it may be settled until they expire. Workers may write no entries, but they cancel nothing.
      if (record.state === 'cancelled') await agenda.add(openEntry(record));
      // No record has revision 0, with which the bucket would create one.
      return { record, revision: await bucket.put(keyOf(record), toText(record), Math.max(1, revision)) };
    },

    /** The key contains the pool, so this copies and then removes: no worker takes the copy before it has an order. */
    async move(left, revision) {
      const record = arrive(left);
      // There is no copy: what would be removed is the record itself.
      if (record.pool === left.pool) return { record, revision: await bucket.put(keyOf(record), toText(record), Math.max(1, revision)) };
      await agenda.add(openEntry(record));
      const there = await bucket.get(keyOf(record));
      const stored = there === undefined ? { record, revision: await bucket.put(keyOf(record), toText(record), 0) } : storedIn(there);
      try {
        await bucket.remove(keyOf(left), revision);
      } catch (error) {
        // Another write was faster, such as a cancellation: it counts, and no reader has seen the copy yet.
        if (error instanceof RevisionConflict) await bucket.remove(keyOf(record), stored.revision).catch(() => undefined);
        throw error;
      }
      return stored;
    },

    async remove(id, revision, pool) {
      const entry = await (pool === undefined ? bucket.getByEnding(tokenOf(id)) : bucket.get(`${pool}.${tokenOf(id)}`));
      if (entry === undefined) return;
      await bucket.remove(entry.key, revision);
      const record = readable(entry, report)?.record;
      // An entry that is not removed here is later found without its record, and removed then.
      if (record !== undefined) await agenda.remove({ ...openEntry(record), before: Number.POSITIVE_INFINITY });
    },

    /** Observes the writes of all processes while connected. */
    watch(id, listener) {
      // Its own function, so that a listener given twice is also removed once.
      const own = () => listener();
      subscribe();
      changes.on(eventOf(id), own);
      return () => void changes.off(eventOf(id), own);
    },

    async *scan() {
      for await (const entry of bucket.entries()) {
        const stored = readable(entry, report);
        if (stored !== undefined) yield stored;
      }
    },

    due: dueOver({ bucket, agenda, recordIn: (entry) => readable(entry, report)?.record }),

    withLock: lockOver({ locks, clock, report, newHolder: randomUUID }),

    async close() {
      unsubscribe?.();
      changes.removeAllListeners();
    },
  };
}

/** An EventEmitter throws on an event named `error` without a listener: no job's event may have that name. */
const eventOf = (id: string): string => `job ${id}`;

/** By pool, so that a worker can be given the right to write its own pool's records and no others. */
const keyOf = ({ pool, id }: JobRecord): string => `${pool}.${id}`;
const idIn = (key: string): string => key.slice(key.lastIndexOf('.') + 1);

const storedIn = ({ key, text, revision }: BucketEntry): Stored => ({ record: fromText(idIn(key), text), revision });

function readable(entry: BucketEntry, report: (found: Unreadable) => void): Stored | undefined {
  try {
    return storedIn(entry);
  } catch (error) {
    report(error as Unreadable);
    return undefined;
  }
}
