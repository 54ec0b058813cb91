/** Batches in one SQLite file, which several processes of one machine may hold open. */

import { openDatabase } from '../sqlite/open.ts';
import { BatchRecord, type BatchStore } from './batch.ts';
import { Conflict } from './store.ts';

const SCHEMA = 'CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT';
/** Read at once by a scan: no statement stays open between pages. */
const PAGE = 64;
/** @param path of the database file, in an existing folder; the job store may keep its tables in the same one */
export function openBatches(path: string): BatchStore {
  const database = openDatabase(path, SCHEMA);
  const sql = {
    create: database.prepare('INSERT INTO batches (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING'),
    get: database.prepare('SELECT record FROM batches WHERE id = ?'),
    remove: database.prepare('DELETE FROM batches WHERE id = ?'),
    page: database.prepare('SELECT id, record FROM batches WHERE id > ? ORDER BY id LIMIT ?'),
  };
  const read = (row: Record<string, unknown>): BatchRecord => BatchRecord.parse(JSON.parse(String(row['record'])));
  return {
    async create(batch) {
      const { changes } = sql.create.run(batch.id, JSON.stringify(BatchRecord.parse(batch)));
      if (Number(changes) === 0) throw new Conflict(`a batch ${batch.id} is there`);
    },
    async get(id) {
      const row = sql.get.get(id);
      return row === undefined ? undefined : read(row);
    },
    async remove(id) {
      sql.remove.run(id);
    },
    async *scan() {
      for (let after = ''; ; ) {
        const rows = sql.page.all(after, PAGE);
        yield* rows.map(read);
        if (rows.length < PAGE) return;
        after = String(rows.at(-1)?.['id']);
      }
    },
    async close() {
      database.close();
    },
  };
}
