/** Batches in one SQLite file, which several processes of one machine may hold open. */

import { RevisionConflict } from '../../errors.ts';
import { type DatabasePlace, openDatabase } from '../../sqlite/open.ts';
import { BatchRecord, type BatchStore } from '../batch.ts';

/** The age is in the record; one that cannot be read counts as old, and is skipped. */
const AGE = `iif(json_valid(record) AND typeof(record ->> '$.createdAt') = 'integer', record ->> '$.createdAt', 0)`;
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS batches_by_age ON batches (${AGE}, id);
`;
/** Records per page of a scan: no statement stays open between pages. */
const PAGE = 64;
/**
 * @param at the database file, in an existing folder, or a connection to it; the job store may keep its tables in the same one
 * @param unreadable called for records that a scan had to skip
 */
export function openSqliteBatches(
  at: DatabasePlace,
  unreadable: (found: Error) => void = (found) => process.emitWarning(found),
): BatchStore {
  const database = openDatabase(at, SCHEMA);
  const sql = {
    create: database.prepare('INSERT INTO batches (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING'),
    get: database.prepare('SELECT record FROM batches WHERE id = ?'),
    remove: database.prepare('DELETE FROM batches WHERE id = ?'),
    page: database.prepare('SELECT id, record FROM batches WHERE id > ? ORDER BY id LIMIT ?'),
    older: database.prepare(
      `SELECT id, record, ${AGE} AS age FROM batches WHERE (${AGE}, id) > (?, ?) AND ${AGE} < ? ORDER BY ${AGE}, id LIMIT ?`,
    ),
  };
  const read = (row: Record<string, unknown>): BatchRecord => BatchRecord.parse(JSON.parse(String(row['record'])));
  const readable = (row: Record<string, unknown>): BatchRecord[] => {
    try {
      return [read(row)];
    } catch (cause) {
      unreadable(new Error(`the record of batch ${row['id']} cannot be read`, { cause }));
      return [];
    }
  };
  return {
    async create(batch) {
      const { changes } = sql.create.run(batch.id, JSON.stringify(BatchRecord.parse(batch)));
      if (Number(changes) === 0) throw new RevisionConflict(`a batch ${batch.id} exists already`);
    },
    async get(id) {
      const row = sql.get.get(id);
      return row === undefined ? undefined : read(row);
    },
    async remove(id) {
      sql.remove.run(id);
    },
    async *createdBefore(time) {
      for (let [age, id] = [-1, '']; ; ) {
        const rows = sql.older.all(age, id, time, PAGE);
        yield* rows.flatMap(readable);
        if (rows.length < PAGE) return;
        [age, id] = [Number(rows.at(-1)?.['age']), String(rows.at(-1)?.['id'])];
        // Reading is synchronous: a long scan must let requests through.
        await new Promise(setImmediate);
      }
    },
    async *scan() {
      for (let after = ''; ; ) {
        const rows = sql.page.all(after, PAGE);
        yield* rows.flatMap(readable);
        if (rows.length < PAGE) return;
        after = String(rows.at(-1)?.['id']);
      }
    },
    async close() {
      database.close();
    },
  };
}
