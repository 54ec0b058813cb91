/** Deeds in one SQLite file, which several processes of one machine may hold open. */

import { openDatabase } from '../sqlite/open.ts';
import { Deed, type DeedStore, REPEATABLE_MS } from './idempotency.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS deeds (key TEXT PRIMARY KEY, made_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS deeds_by_age ON deeds (made_at);
`;
/** @param path of the database file, in an existing folder; the job store may keep its tables in the same one */
export function openDeeds(path: string): DeedStore {
  const database = openDatabase(path, SCHEMA);
  const sql = {
    // One statement is one transaction. Where the young one stays, nothing is returned.
    keep: database.prepare(
      `INSERT INTO deeds (key, made_at, record) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET made_at = excluded.made_at, record = excluded.record WHERE made_at < ? RETURNING record`,
    ),
    get: database.prepare('SELECT record FROM deeds WHERE key = ? AND made_at >= ?'),
    remove: database.prepare('DELETE FROM deeds WHERE key = ? AND record = ?'),
    sweep: database.prepare('DELETE FROM deeds WHERE made_at < ?'),
  };
  const read = (row: Record<string, unknown>): Deed => Deed.parse(JSON.parse(String(row['record'])));
  const find = (key: string, now: number): Deed | undefined => {
    const row = sql.get.get(key, now - REPEATABLE_MS);
    return row === undefined ? undefined : read(row);
  };
  return {
    async keep(deed) {
      const { key, madeAt } = deed;
      const kept = sql.keep.get(key, madeAt, JSON.stringify(Deed.parse(deed)), madeAt - REPEATABLE_MS);
      if (kept !== undefined) return read(kept);
      // Gone between the two statements, it is as if it had never been there.
      return find(key, madeAt) ?? deed;
    },
    async get(key, now) {
      return find(key, now);
    },
    async remove(deed) {
      sql.remove.run(deed.key, JSON.stringify(Deed.parse(deed)));
    },
    async sweep(now) {
      return Number(sql.sweep.run(now - REPEATABLE_MS).changes);
    },
    async close() {
      database.close();
    },
  };
}
