/** Files that clients upload before the requests that use them, possibly in several parts. Each part is an object; a record lists them. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { cleanName } from '../catalog/names.ts';
import { uploadIdPattern } from '../contracts/api/upload.ts';
import { Failure, fileTooLarge, RevisionConflict } from '../errors.ts';
import { Missing, type ObjectStore, TooLarge } from '../objects/store.ts';
import { Joined } from '../streams/joined.ts';
import { partKey } from './keys.ts';
import type { UploadSettings } from './settings.ts';
import { MAX_PARTS, type StoredUpload, UPLOAD_VERSION, type UploadBounds, type UploadRecord, type UploadStore } from './store.ts';

/** A long request is stored in parts of this size or duration, so that a crash or an expiry loses only the last: bytes, and ms. */
const PART_BYTES = 16 * 1024 * 1024;
const PART_MS = 5 * 60_000;

/**
 * So many small parts at the end of an upload are joined into one: a client that sends small pieces is bounded by its bytes, and not by their number.
 * Fewer would copy the same bytes more often.
 */
const JOINED_AT_ONCE = 16;
/** Parts below this are small, bytes; in a large upload, below a two-hundredth of it, so that all its parts stay within `MAX_PARTS`. */
const SMALL_PART_BYTES = 1024 * 1024;
const SMALL_SHARE = 200;

/** The only part of an upload by form. */
const WHOLE = 'whole';

export interface NewUpload {
  readonly id: string;
  readonly client: { readonly key: string; readonly multiple: number };
  /** Size of the whole file; where unknown, the largest allowed. */
  readonly sizeBytes: number;
  readonly filename: string;
  readonly metadata?: Readonly<Record<string, string | null>> | undefined;
}

export interface Uploads {
  /** @param multiple how many clients this one stands for @returns undefined where uploads are not limited */
  roomFor(multiple: number): Omit<UploadBounds, 'now'> | undefined;
  /** @throws Exceeded */
  begin(upload: NewUpload): Promise<UploadRecord>;
  /** @throws Failure `UPLOAD_NOT_FOUND`, also for one that has expired */
  find(id: string): Promise<UploadRecord>;
  /** Opens a finished upload; read the content to its end or destroy it. @throws Failure `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT` where bytes are missing */
  open(id: string): Promise<{ readonly record: UploadRecord; readonly content: Readable }>;
  /**
   * Appends `content` until it ends, storing it part by part.
   * @param offset where the sender believes the upload ends, bytes
   * @throws Failure `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT`, `FILE_TOO_LARGE`, `BAD_REQUEST` · what the stream throws: the last part is lost then
   */
  append(id: string, offset: number, content: AsyncIterable<Uint8Array>): Promise<UploadRecord>;
  /** The object key under which to store an upload by form, before calling `complete`. */
  wholeKey(id: string): string;
  /** @throws Failure `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT` */
  complete(id: string, filename: string, sizeBytes: number): Promise<UploadRecord>;
  /** Removing a missing upload is no error. */
  remove(id: string): Promise<void>;
  /** Resolves when no append is running. On shutdown, await it after closing the connections and before closing the stores. */
  idle(): Promise<void>;
}

export const receivedBytes = ({ parts }: Pick<UploadRecord, 'parts'>): number => parts.reduce((sum, [, bytes]) => sum + bytes, 0);

/** @param isLimited whether a client has limits of its uploads */
export function uploadsOver(
  store: UploadStore,
  objects: ObjectStore,
  settings: UploadSettings,
  clock: () => number,
  isLimited = true,
): Uploads {
  const appending = new Set<Promise<unknown>>();
  const { maxPerClient, maxBytesPerClient } = settings;
  const roomFor: Uploads['roomFor'] = (multiple) =>
    isLimited ? { uploads: maxPerClient * multiple, bytes: maxBytesPerClient * multiple } : undefined;

  const load = async (id: string): Promise<StoredUpload> => {
    const stored = uploadIdPattern.test(id) ? await store.get(id) : undefined;
    if (stored === undefined || stored.record.expiresAt <= clock()) throw unknown(id);
    return stored;
  };

  /** The record with these parts, and its new expiry. */
  const withParts = (record: UploadRecord, parts: UploadRecord['parts']): UploadRecord => {
    const finished = receivedBytes({ parts }) === record.sizeBytes;
    return { ...record, parts, finished, expiresAt: clock() + (finished ? settings.keptMs : settings.idleMs) };
  };

  /** Stores one part, then records it. */
  async function storePart({ record, revision }: StoredUpload, part: Readable): Promise<StoredUpload> {
    // A unique name: the loser of a race for the record can neither overwrite the winner's part nor be mistaken for it.
    const name = `${record.parts.length}-${randomBytes(6).toString('hex')}`;
    const key = partKey(record.id, name);
    const { sizeBytes } = await objects.put(key, part, record.sizeBytes - receivedBytes(record));
    try {
      return await store.update(withParts(record, [...record.parts, [name, sizeBytes]]), revision);
    } catch (error) {
      // After any other error the record may still name the part. If it does not, the part is removed with the upload.
      if (!(error instanceof RevisionConflict)) throw error;
      await objects.delete(key);
      throw conflict((await load(record.id)).record);
    }
  }

  const contentOf = (id: string, parts: UploadRecord['parts']): Joined =>
    new Joined(
      parts.map(
        ([name]) =>
          () =>
            objects.get(partKey(id, name)),
      ),
    );

  /** The upload with its last small parts joined, where there are many. A finished one may be being read, and stays as it is. */
  async function joinSmallParts(stored: StoredUpload): Promise<StoredUpload> {
    const { record, revision } = stored;
    const count = record.finished ? 0 : countToJoin(record);
    if (count === 0) return stored;
    const [kept, small] = [record.parts.slice(0, -count), record.parts.slice(-count)];
    const name = `${kept.length}-${randomBytes(6).toString('hex')}`;
    try {
      const { sizeBytes } = await objects.put(partKey(record.id, name), contentOf(record.id, small), receivedBytes({ parts: small }));
      const joined = await store.update(withParts(record, [...kept, [name, sizeBytes]]), revision);
      // What stays of them after a failure is removed with the upload.
      await Promise.allSettled(small.map(([old]) => objects.delete(partKey(record.id, old))));
      return joined;
    } catch (error) {
      // Missing: another writer has joined them before.
      if (!(error instanceof RevisionConflict || error instanceof Missing)) throw error;
      await objects.delete(partKey(record.id, name));
      throw conflict((await load(record.id)).record);
    }
  }

  async function append(id: string, offset: number, content: AsyncIterable<Uint8Array>): Promise<UploadRecord> {
    let stored = await load(id);
    if (receivedBytes(stored.record) !== offset) throw conflict(stored.record);
    const chunks = content[Symbol.asyncIterator]();
    let next = await chunks.next();
    async function* part(): AsyncGenerator<Uint8Array> {
      const began = clock();
      for (let bytes = 0; !next.done && bytes < PART_BYTES && clock() - began < PART_MS; next = await chunks.next()) {
        bytes += next.value.byteLength;
        yield next.value;
      }
    }
    while (!next.done) {
      if (stored.record.parts.length >= MAX_PARTS) throw tooManyParts();
      stored = await storePart(stored, Readable.from(part(), { objectMode: false })).catch((error: unknown) => {
        const { sizeBytes } = stored.record;
        throw error instanceof TooLarge ? fileTooLarge(sizeBytes, receivedBytes(stored.record) + error.receivedBytes) : error;
      });
      stored = await joinSmallParts(stored);
    }
    return stored.record;
  }

  return {
    roomFor,

    async begin({ id, client, sizeBytes, filename, metadata }) {
      const now = clock();
      const record: UploadRecord = {
        version: UPLOAD_VERSION,
        id,
        client: client.key,
        filename: cleanName(filename),
        ...(metadata === undefined ? {} : { metadata }),
        sizeBytes,
        parts: [],
        finished: false,
        createdAt: now,
        expiresAt: now + settings.idleMs,
      };
      const room = roomFor(client.multiple);
      return (await store.create(sizeBytes === 0 ? withParts(record, []) : record, room && { ...room, now })).record;
    },

    find: async (id) => (await load(id)).record,

    async open(id) {
      const { record } = await load(id);
      if (!record.finished) throw conflict(record);
      return { record, content: contentOf(id, record.parts) };
    },

    async append(id, offset, content) {
      const work = append(id, offset, content);
      appending.add(work);
      return work.finally(() => appending.delete(work));
    },

    wholeKey: (id) => partKey(id, WHOLE),

    async complete(id, filename, sizeBytes) {
      // Not by `load`: a form may take longer than the idle time after which uploads expire.
      const stored = await store.get(id);
      if (stored === undefined) throw unknown(id);
      const whole = withParts({ ...stored.record, filename: cleanName(filename), sizeBytes }, [[WHOLE, sizeBytes]]);
      try {
        return (await store.update(whole, stored.revision)).record;
      } catch (error) {
        // The id was used twice, or the upload was deleted while the last bytes arrived.
        throw error instanceof RevisionConflict ? conflict((await load(id)).record) : error;
      }
    },

    async remove(id) {
      if (!uploadIdPattern.test(id)) return;
      // The record first: after that no part can be added.
      await store.remove(id);
      for await (const { key } of objects.scan(partKey(id, ''))) await objects.delete(key);
    },

    async idle() {
      await Promise.allSettled(appending);
    },
  };
}

/** How many parts at the end are to be joined: those of the smallest kind of which there are many. Each byte is copied a few times at most. */
function countToJoin({ parts, sizeBytes }: UploadRecord): number {
  const small = Math.max(SMALL_PART_BYTES, sizeBytes / SMALL_SHARE);
  for (const bound of [small / JOINED_AT_ONCE, small]) {
    const last = parts.findLastIndex(([, bytes]) => bytes >= bound);
    const count = parts.length - 1 - last;
    if (count >= JOINED_AT_ONCE) return count;
  }
  return 0;
}

const unknown = (id: string): Failure => new Failure('UPLOAD_NOT_FOUND', { details: { upload_id: id.slice(0, 100) } });

const conflict = (record: UploadRecord): Failure =>
  new Failure('UPLOAD_CONFLICT', {
    says: `This upload has ${receivedBytes(record)} of ${record.sizeBytes} bytes: continue at that offset.`,
    details: { upload_id: record.id, received_bytes: receivedBytes(record), size_bytes: record.sizeBytes },
  });

const tooManyParts = (): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The upload has ${MAX_PARTS} pieces, the maximum: start again with larger pieces.`,
    details: { limit: 'parts', max: MAX_PARTS },
  });
