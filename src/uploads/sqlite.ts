/** Upload records in one SQLite file, which several processes on one machine may have open. */

import { RevisionConflict } from '../errors.ts';
import { type DatabasePlace, openDatabase } from '../sqlite/open.ts';
import { Exceeded, type StoredUpload, type UploadBounds, UploadRecord, type UploadStore } from './store.ts';

/** AUTOINCREMENT never reuses a number, so a record that was removed and created again cannot match an old revision. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS uploads (
    revision INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, client TEXT NOT NULL,
    bytes INTEGER NOT NULL, expires INTEGER NOT NULL, record TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS uploads_of ON uploads (client);
  CREATE INDEX IF NOT EXISTS uploads_by_expiry ON uploads (expires, id);
`;
/** Rows that a scan reads at once: no statement stays open between pages. */
const PAGE = 64;
const UNBOUNDED: UploadBounds = { uploads: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, now: 0 };

/**
 * @param at the database file, in an existing folder, or a connection to it; other stores may keep their tables in the same one
 * @param onUnreadable called for each record that a scan had to skip
 */
export function openSqliteUploads(at: DatabasePlace, onUnreadable: (why: Error) => void = (why) => process.emitWarning(why)): UploadStore {
  const database = openDatabase(at, SCHEMA);
  const sql = {
    // One statement is one transaction: concurrent creates run before or after it.
    create: database.prepare(
      `INSERT INTO uploads (id, client, bytes, expires, record) SELECT $id, $client, $bytes, $expires, $record
       WHERE (SELECT count(*) < $mostUploads AND coalesce(sum(bytes), 0) + $bytes <= $mostBytes
              FROM uploads WHERE client = $client AND expires > $now)
       ON CONFLICT (id) DO NOTHING RETURNING revision`,
    ),
    held: database.prepare('SELECT count(*) AS count, min(expires) AS first FROM uploads WHERE client = ? AND expires > ?'),
    get: database.prepare('SELECT id, revision, record FROM uploads WHERE id = ?'),
    update: database.prepare(
      `INSERT OR REPLACE INTO uploads (id, client, bytes, expires, record)
       SELECT id, client, ?, ?, ? FROM uploads WHERE id = ? AND revision = ? RETURNING revision`,
    ),
    remove: database.prepare('DELETE FROM uploads WHERE id = ?'),
    expired: database.prepare(
      'SELECT id, revision, record, expires FROM uploads WHERE (expires, id) > (?, ?) AND expires <= ? ORDER BY expires, id LIMIT ?',
    ),
    page: database.prepare('SELECT id, revision, record FROM uploads WHERE id > ? ORDER BY id LIMIT ?'),
  };
  const read = (row: Record<string, unknown>): StoredUpload => {
    try {
      return { record: UploadRecord.parse(JSON.parse(String(row['record']))), revision: Number(row['revision']) };
    } catch (cause) {
      throw new Error('the record of an upload cannot be read', { cause });
    }
  };
  const skipUnreadable = (row: Record<string, unknown>): StoredUpload[] => {
    try {
      return [read(row)];
    } catch (error) {
      onUnreadable(error as Error);
      return [];
    }
  };

  return {
    async create(record, bounds) {
      const { uploads, bytes, now } = bounds ?? UNBOUNDED;
      const { id, client, sizeBytes, expiresAt } = record;
      const row = sql.create.get({
        $id: id,
        $client: client,
        $bytes: sizeBytes,
        $expires: expiresAt,
        $record: JSON.stringify(record),
        $mostUploads: uploads,
        $mostBytes: bytes,
        $now: now,
      });
      if (row !== undefined) return { record, revision: Number(row['revision']) };
      if (sql.get.get(id) !== undefined) throw new RevisionConflict('an upload with this id exists already');
      const held = sql.held.get(client, now);
      const freeAt = (held?.['first'] as number | null | undefined) ?? undefined;
      throw Number(held?.['count']) >= uploads ? new Exceeded('uploads', uploads, freeAt) : new Exceeded('bytes', bytes, freeAt);
    },
    async get(id) {
      const row = sql.get.get(id);
      return row === undefined ? undefined : read(row);
    },
    async update(record, revision) {
      const row = sql.update.get(record.sizeBytes, record.expiresAt, JSON.stringify(record), record.id, revision);
      if (row === undefined) throw new RevisionConflict(`the upload was changed or removed since revision ${revision}`);
      return { record, revision: Number(row['revision']) };
    },
    async remove(id) {
      sql.remove.run(id);
    },
    async *expired(now) {
      for (let [expires, id] = [-1, '']; ; ) {
        const rows = sql.expired.all(expires, id, now, PAGE);
        yield* rows.flatMap(skipUnreadable);
        if (rows.length < PAGE) return;
        [expires, id] = [Number(rows.at(-1)?.['expires']), String(rows.at(-1)?.['id'])];
        await new Promise(setImmediate);
      }
    },
    async *scan() {
      for (let after = ''; ; ) {
        const rows = sql.page.all(after, PAGE);
        yield* rows.flatMap(skipUnreadable);
        if (rows.length < PAGE) return;
        after = String(rows.at(-1)?.['id']);
        // Reading is synchronous: a long scan must not block requests.
        await new Promise(setImmediate);
      }
    },
    async close() {
      database.close();
    },
  };
}
