/** Idempotency records in one SQLite file, which several processes of one machine may hold open. */

import { type DatabasePlace, openDatabase } from '../../sqlite/open.ts';
import { IDEMPOTENCY_TTL_MS, IdempotencyRecord, type IdempotencyStore } from '../idempotency.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS idempotency (key TEXT PRIMARY KEY, created_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS idempotency_by_age ON idempotency (created_at);
`;
/** @param at the database file, in an existing folder, or a connection to it; the job store may keep its tables in the same one */
export function openSqliteIdempotency(at: DatabasePlace): IdempotencyStore {
  const database = openDatabase(at, SCHEMA);
  const sql = {
    // One statement is one transaction. If a record that is not too old stays, nothing is returned.
    keep: database.prepare(
      `INSERT INTO idempotency (key, created_at, record) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET created_at = excluded.created_at, record = excluded.record WHERE created_at < ? RETURNING record`,
    ),
    get: database.prepare('SELECT record FROM idempotency WHERE key = ? AND created_at >= ?'),
    remove: database.prepare('DELETE FROM idempotency WHERE key = ? AND record = ?'),
    sweep: database.prepare('DELETE FROM idempotency WHERE created_at < ?'),
  };
  const read = (row: Record<string, unknown>): IdempotencyRecord => IdempotencyRecord.parse(JSON.parse(String(row['record'])));
  const find = (key: string, now: number): IdempotencyRecord | undefined => {
    const row = sql.get.get(key, now - IDEMPOTENCY_TTL_MS);
    return row === undefined ? undefined : read(row);
  };
  return {
    async claim(record) {
      const { key, createdAt } = record;
      const kept = sql.keep.get(key, createdAt, JSON.stringify(IdempotencyRecord.parse(record)), createdAt - IDEMPOTENCY_TTL_MS);
      if (kept !== undefined) return read(kept);
      // If the record was removed between the two statements, it is as if it had never existed.
      return find(key, createdAt) ?? record;
    },
    async get(key, now) {
      return find(key, now);
    },
    async remove(record) {
      sql.remove.run(record.key, JSON.stringify(IdempotencyRecord.parse(record)));
    },
    async sweep(now) {
      return Number(sql.sweep.run(now - IDEMPOTENCY_TTL_MS).changes);
    },
    async close() {
      database.close();
    },
  };
}
