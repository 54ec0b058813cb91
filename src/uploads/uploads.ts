/** Files that come before the requests that use them, in pieces if need be: each piece an object, their list a record. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { cleanName } from '../catalog/names.ts';
import { uploadIdPattern } from '../contracts/api/upload.ts';
import { Failure, fileTooLarge, RevisionConflict } from '../errors.ts';
import { type ObjectStore, TooLarge } from '../objects/store.ts';
import { Joined } from '../streams/joined.ts';
import { partKey } from './keys.ts';
import type { UploadSettings } from './settings.ts';
import { MAX_PARTS, type StoredUpload, UPLOAD_VERSION, type UploadRecord, type UploadStore } from './store.ts';

/** A long request is stored piece by piece, so that neither a crash nor an hour without news costs all of it: bytes, and ms. */
const PIECE_BYTES = 16 * 1024 * 1024;
const PIECE_MS = 5 * 60_000;

/** The one piece of an upload that came as a form. */
const WHOLE = 'whole';

export interface Begin {
  readonly id: string;
  readonly client: { readonly key: string; readonly multiple: number };
  /** Of the whole file; where it is not known, the most that it may be. */
  readonly sizeBytes: number;
  readonly filename: string;
  readonly metadata?: Readonly<Record<string, string | null>> | undefined;
}

export interface Uploads {
  /** @throws Exceeded */
  begin(upload: Begin): Promise<UploadRecord>;
  /** What is there and has not expired. @throws Failure `UPLOAD_NOT_FOUND` */
  find(id: string): Promise<UploadRecord>;
  /** A whole file, to be read once or destroyed. @throws Failure `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT` where bytes are still to come */
  open(id: string): Promise<{ readonly record: UploadRecord; readonly content: Readable }>;
  /**
   * Appends what comes until it ends, and keeps it piece by piece.
   * @param offset where the sender believes to be, bytes
   * @throws Failure `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT`, `FILE_TOO_LARGE`, `BAD_REQUEST` · what the stream throws: the last piece is then lost
   */
  append(id: string, offset: number, content: AsyncIterable<Uint8Array>): Promise<UploadRecord>;
  /** Where a file that comes at once is stored, before `complete` says so. */
  wholeKey(id: string): string;
  /** @throws Failure `UPLOAD_NOT_FOUND`, `UPLOAD_CONFLICT` */
  complete(id: string, filename: string, sizeBytes: number): Promise<UploadRecord>;
  /** Removing what is gone is no error. */
  remove(id: string): Promise<void>;
  /** Resolves when nobody appends any more: to be waited for, once their connections are closed, before the stores are. */
  idle(): Promise<void>;
}

export const receivedBytes = ({ parts }: Pick<UploadRecord, 'parts'>): number => parts.reduce((sum, [, bytes]) => sum + bytes, 0);

export function uploadsOver(store: UploadStore, objects: ObjectStore, settings: UploadSettings, clock: () => number): Uploads {
  const appending = new Set<Promise<unknown>>();

  const load = async (id: string): Promise<StoredUpload> => {
    const stored = uploadIdPattern.test(id) ? await store.get(id) : undefined;
    if (stored === undefined || stored.record.expiresAt <= clock()) throw unknown(id);
    return stored;
  };

  /** The pieces of a record as they are from now on. */
  const grown = (record: UploadRecord, parts: UploadRecord['parts']): UploadRecord => {
    const finished = receivedBytes({ parts }) === record.sizeBytes;
    return { ...record, parts, finished, expiresAt: clock() + (finished ? settings.keptMs : settings.idleMs) };
  };

  /** Stores one piece, then notes it. */
  async function keep({ record, revision }: StoredUpload, piece: Readable): Promise<StoredUpload> {
    // A name that no other writer has: whoever loses the race for the record can neither overwrite nor be mistaken for the winner.
    const name = `${record.parts.length}-${randomBytes(6).toString('hex')}`;
    const key = partKey(record.id, name);
    const { sizeBytes } = await objects.put(key, piece, record.sizeBytes - receivedBytes(record));
    try {
      return await store.update(grown(record, [...record.parts, [name, sizeBytes]]), revision);
    } catch (error) {
      // After any other error the record may name the piece all the same. If it does not, the piece goes with the upload.
      if (!(error instanceof RevisionConflict)) throw error;
      await objects.delete(key);
      throw conflict((await load(record.id)).record);
    }
  }

  async function append(id: string, offset: number, content: AsyncIterable<Uint8Array>): Promise<UploadRecord> {
    let stored = await load(id);
    if (receivedBytes(stored.record) !== offset) throw conflict(stored.record);
    const chunks = content[Symbol.asyncIterator]();
    let next = await chunks.next();
    async function* piece(): AsyncGenerator<Uint8Array> {
      const began = clock();
      for (let bytes = 0; !next.done && bytes < PIECE_BYTES && clock() - began < PIECE_MS; next = await chunks.next()) {
        bytes += next.value.byteLength;
        yield next.value;
      }
    }
    while (!next.done) {
      if (stored.record.parts.length >= MAX_PARTS) throw tooManyParts();
      stored = await keep(stored, Readable.from(piece(), { objectMode: false })).catch((error: unknown) => {
        const { sizeBytes } = stored.record;
        throw error instanceof TooLarge ? fileTooLarge(sizeBytes, receivedBytes(stored.record) + error.receivedBytes) : error;
      });
    }
    return stored.record;
  }

  return {
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
      const { maxPerClient, maxBytesPerClient } = settings;
      const bounds = { uploads: maxPerClient * client.multiple, bytes: maxBytesPerClient * client.multiple, now };
      return (await store.create(sizeBytes === 0 ? grown(record, []) : record, bounds)).record;
    },

    find: async (id) => (await load(id)).record,

    async open(id) {
      const { record } = await load(id);
      if (!record.finished) throw conflict(record);
      return {
        record,
        content: new Joined(
          record.parts.map(
            ([name]) =>
              () =>
                objects.get(partKey(id, name)),
          ),
        ),
      };
    },

    async append(id, offset, content) {
      const work = append(id, offset, content);
      appending.add(work);
      return work.finally(() => appending.delete(work));
    },

    wholeKey: (id) => partKey(id, WHOLE),

    async complete(id, filename, sizeBytes) {
      // Not by `load`: a form may take longer than an upload may be idle.
      const stored = await store.get(id);
      if (stored === undefined) throw unknown(id);
      const whole = grown({ ...stored.record, filename: cleanName(filename), sizeBytes }, [[WHOLE, sizeBytes]]);
      try {
        return (await store.update(whole, stored.revision)).record;
      } catch (error) {
        // Somebody else had the id, or it was deleted as the last bytes came.
        throw error instanceof RevisionConflict ? conflict((await load(id)).record) : error;
      }
    },

    async remove(id) {
      if (!uploadIdPattern.test(id)) return;
      // The record first: from then on nobody adds a piece.
      await store.remove(id);
      for await (const { key } of objects.scan(partKey(id, ''))) await objects.delete(key);
    },

    async idle() {
      await Promise.allSettled(appending);
    },
  };
}

const unknown = (id: string): Failure => new Failure('UPLOAD_NOT_FOUND', { details: { upload_id: id.slice(0, 100) } });

const conflict = (record: UploadRecord): Failure =>
  new Failure('UPLOAD_CONFLICT', {
    says: `Of this upload ${receivedBytes(record)} of ${record.sizeBytes} bytes are there.`,
    details: { upload_id: record.id, received_bytes: receivedBytes(record), size_bytes: record.sizeBytes },
  });

const tooManyParts = (): Failure =>
  new Failure('BAD_REQUEST', {
    says: `The upload came in ${MAX_PARTS} pieces, the most that one may have: begin anew, and send larger ones.`,
    details: { limit: 'parts', max: MAX_PARTS },
  });
