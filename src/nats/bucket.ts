/** Texts by key in a JetStream key-value bucket: strong reads, compare-and-swap writes, a scan that never holds them all. */
import { DiscardPolicy, RetentionPolicy, StorageType, type StoredMsg } from '@nats-io/jetstream';
import { headers, nanos, nuid } from 'nats';
import { RevisionConflict } from '../errors.ts';
import type { Nats } from './connection.ts';
import { ensureStream } from './ensure.ts';
import { bucketKey, isKey, isToken, tokenOf } from './token.ts';
import { isFull, isRevisionConflict, Unavailable } from './unavailable.ts';

export interface BucketEntry {
  readonly key: string;
  readonly text: string;
  /** Revision of this version; never reused in the bucket. */
  readonly revision: number;
}

export interface Bucket {
  /** The latest, read from the leader of the replicas. */
  get(key: string): Promise<BucketEntry | undefined>;
  /** The latest of the one key that ends in this token, whatever its prefix. */
  getByEnding(ending: string): Promise<BucketEntry | undefined>;
  /**
   * @param revision the one to replace; 0 to create
   * @param ttlMs after which this version is removed, unless it is replaced first
   * @returns the new revision
   * @throws RevisionConflict if `revision` is no longer the latest
   */
  put(key: string, text: string, revision: number, ttlMs?: number): Promise<number>;
  /** Removing a missing key is no error. @throws RevisionConflict if the key has another revision */
  remove(key: string, revision: number): Promise<void>;
  /** Each entry once, in no order. One written during the scan may be missed. */
  entries(): AsyncIterable<BucketEntry>;
  /**
   * Entries in the order of their last write, so that the oldest are found without reading the rest.
   * @param from a revision, or a lower number: 0 starts with the oldest
   * @param count messages to read, including removals
   * @returns `next`: where the next page starts; undefined after the last page
   */
  page(from: number, count: number): Promise<{ readonly entries: readonly BucketEntry[]; readonly next: number | undefined }>;
  /** Calls back with the key of each stored change, and with undefined when changes may have been missed. @returns unsubscribe */
  onChange(changed: (key: string | undefined) => void): () => void;
  /** The server's time, ms since the epoch: the only clock that all processes share. */
  now(): Promise<number>;
}

export interface BucketSpec {
  readonly name: string;
  /** A version is removed after this long in any case: a backstop, ms. */
  readonly maxAgeMs?: number;
  /** Size of a value with its key and headers. */
  readonly maxBytes: number;
}

/** How long a removal marker is kept, ms: until then a writer sees it, after that the key is as if it had never existed. */
const REMOVED_TTL_MS = 3600_000;
/** A write that is repeated within this time is stored once, ms: much longer than any caller retries. */
const REPEATED_MS = 120_000;
/** Removal markers of one ending that are passed over: more than a job moves between pools in `REMOVED_TTL_MS`. */
const MOST_REMOVED = 100;
/** Concurrent reads of a scan: each takes a round trip, and holds one entry. */
const SCANNERS = 8;
const OPERATION = 'KV-Operation';
const MESSAGE_ID = 'Nats-Msg-Id';

const streamOf = (bucket: string): string => `KV_${bucket}`;
const changesOf = (bucket: string): string => `changed.${bucket}`;

/** @param replicas 1, 3 or 5 @throws Mismatch · Unavailable */
export const ensureBucket = (nats: Nats, { name, maxAgeMs = 0, maxBytes }: BucketSpec, replicas: number): Promise<void> =>
  ensureStream(nats, {
    name: streamOf(tokenOf(name)),
    subjects: [`$KV.${name}.>`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    max_msg_size: maxBytes,
    max_age: nanos(maxAgeMs),
    duplicate_window: nanos(REPEATED_MS),
    discard: DiscardPolicy.New,
    deny_delete: true,
    allow_rollup_hdrs: true,
    allow_msg_ttl: true,
    // Any replica may answer a direct read, and it may be behind.
    allow_direct: false,
    // A subscription to the bucket's own subjects would also receive writes that were refused.
    republish: { src: `$KV.${name}.>`, dest: `${changesOf(name)}.>`, headers_only: true },
  });

export function openBucket(nats: Nats, name: string): Bucket {
  const { core, manager, client, withRetry, readStrongly } = nats;
  const stream = streamOf(tokenOf(name));
  const prefix = `$KV.${name}.`;

  const last = (key: string) => readStrongly(`to read ${name}`, () => manager.streams.getMessage(stream, { last_by_subj: prefix + key }));

  /** Entries whose revision is at least `first` and below `end`. */
  async function* between(first: number, end: number): AsyncGenerator<BucketEntry> {
    for (let seq = first; seq < end; ) {
      // By sequence number, from the leader: a consumer may run on a replica that is behind.
      const query = { seq, next_by_subj: `${prefix}>` };
      const message = await withRetry(`to scan ${name}`, () => manager.streams.getMessage(stream, query));
      if (message === null || message.seq >= end) return;
      if (!isRemoval(message)) yield entryIn(message, prefix);
      seq = message.seq + 1;
    }
  }

  async function write(key: string, text: string, revision: number, ttlMs: number | undefined, removes: boolean): Promise<number> {
    const marks = headers();
    if (removes) marks.set(OPERATION, 'DEL');
    // The same for all attempts: if a response was lost, the next attempt gets the same one.
    const msgID = nuid.next();
    const ttl = ttlMs === undefined ? {} : { ttl: `${Math.max(1, Math.ceil(ttlMs / 1000))}s` };
    const options = { msgID, headers: marks, expect: { lastSubjectSequence: revision }, ...ttl };
    let attempts = 0;
    const attempt = () => {
      attempts++;
      return client.publish(prefix + key, text, options);
    };
    try {
      return (await withRetry(`to write ${name}`, attempt)).seq;
    } catch (error) {
      if (isRevisionConflict(error)) {
        // Perhaps with our own earlier attempt: a single server compares sequences before it checks message ids.
        const message = attempts > 1 ? await last(key) : null;
        if (message?.header.get(MESSAGE_ID) === msgID) return message.seq;
        throw new RevisionConflict(`${key} in ${name} is not at revision ${revision}`, { cause: error });
      }
      if (isFull(error)) throw new Unavailable(`to write ${name}, which has no room`, error);
      throw error;
    }
  }

  const present = (message: StoredMsg | null): BucketEntry | undefined =>
    message === null || isRemoval(message) ? undefined : entryIn(message, prefix);

  return {
    async get(key) {
      // No record can have such a key, and as a wildcard it must not match others.
      if (!isKey(key)) return undefined;
      return present(await last(key));
    },

    async getByEnding(ending) {
      if (!isToken(ending)) return undefined;
      const latest = await last(`*.${ending}`);
      if (latest === null || !isRemoval(latest)) return present(latest);
      // The removal may be the last step of a move: the copy at the other key was written before it, and after the removals of earlier moves.
      // A copy that is moved on while this reads is written again further on.
      for (let [seq, removed] = [1, 0]; removed < MOST_REMOVED; removed++) {
        const query = { seq, next_by_subj: `${prefix}*.${ending}` };
        const message = await readStrongly(`to read ${name}`, () => manager.streams.getMessage(stream, query));
        if (message === null || !isRemoval(message)) return present(message);
        seq = message.seq + 1;
      }
      return undefined;
    },

    async put(key, text, revision, ttlMs) {
      bucketKey(key);
      try {
        return await write(key, text, revision, ttlMs, false);
      } catch (error) {
        if (revision !== 0 || !(error instanceof RevisionConflict)) throw error;
        const message = await last(key);
        if (message === null || !isRemoval(message)) throw error;
        return await write(key, text, message.seq, ttlMs, false);
      }
    },

    async remove(key, revision) {
      bucketKey(key);
      try {
        await write(key, '', revision, REMOVED_TTL_MS, true);
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        const message = await last(key);
        if (message !== null && !isRemoval(message)) throw error;
      }
    },

    async *entries() {
      const { state } = await withRetry(`to scan ${name}`, () => manager.streams.info(stream));
      const share = Math.ceil((state.last_seq + 1 - state.first_seq) / SCANNERS);
      const from = (scanner: number) => Math.min(state.first_seq + scanner * share, state.last_seq + 1);
      yield* asTheyCome(Array.from({ length: SCANNERS }, (_, scanner) => between(from(scanner), from(scanner + 1))));
    },

    async page(from, count) {
      const entries: BucketEntry[] = [];
      let seq = Math.max(1, from);
      for (let read = 0; read < count; read++) {
        const query = { seq, next_by_subj: `${prefix}>` };
        const message = await withRetry(`to scan ${name}`, () => manager.streams.getMessage(stream, query));
        if (message === null) return { entries, next: undefined };
        if (!isRemoval(message)) entries.push(entryIn(message, prefix));
        seq = message.seq + 1;
      }
      return { entries, next: seq };
    },

    onChange(changed) {
      const subject = `${changesOf(name)}.`;
      const subscription = core.subscribe(`${subject}>`, {
        callback: (error, message) => changed(error === null ? message.subject.slice(subject.length) : undefined),
      });
      const unsubscribe = nats.onReconnect(() => changed(undefined));
      return () => {
        unsubscribe();
        if (!subscription.isClosed()) subscription.unsubscribe();
      };
    },

    async now() {
      const { ts = '' } = await withRetry(`to read the time of ${name}`, () => manager.streams.info(stream));
      return Date.parse(ts);
    },
  };
}

const isRemoval = ({ header }: StoredMsg): boolean => ['DEL', 'PURGE'].includes(header.get(OPERATION));

const entryIn = (message: StoredMsg, prefix: string): BucketEntry => ({
  key: message.subject.slice(prefix.length),
  text: message.string(),
  revision: message.seq,
});

/** Merges several generators: reads one item ahead from each, and yields whichever comes first. */
export async function* asTheyCome<T>(sources: readonly AsyncGenerator<T>[]): AsyncGenerator<T> {
  const ahead = new Map<AsyncGenerator<T>, Promise<{ readonly source: AsyncGenerator<T>; readonly next: IteratorResult<T> }>>();
  const ask = (source: AsyncGenerator<T>) => {
    const asked = source.next().then((next) => ({ source, next }));
    // If the reader stops early, nothing awaits this promise.
    asked.catch(() => {});
    ahead.set(source, asked);
  };
  for (const source of sources) ask(source);
  while (ahead.size > 0) {
    const { source, next } = await Promise.race(ahead.values());
    if (next.done) {
      ahead.delete(source);
    } else {
      ask(source);
      yield next.value;
    }
  }
}
