/** Clients' limits in one SQLite file, which several processes on one machine may have open. */

import { RevisionConflict } from '../errors.ts';
import { type DatabasePlace, openDatabase } from '../sqlite/open.ts';
import type { LimitStore } from './store.ts';
import { clientFromText, clientToText } from './text.ts';

/** AUTOINCREMENT never reuses a number, so a record that was deleted and created again cannot match an old revision. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS clients (
    revision INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, record TEXT NOT NULL, lapses_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS clients_by_lapse ON clients (lapses_at);
`;

/** Expired records deleted with each write: more than one, so that the file shrinks to those that matter. */
const FORGET = 2;
/** Records per page of a scan: no statement stays open between pages. */
const PAGE = 64;

/**
 * @param at the database file, in an existing folder, or a connection to it; jobs and queue may keep their tables in the same one
 * @param clock ms since the epoch
 * @param onUnreadable called for each record that is reset because it cannot be read
 */
export function openSqliteLimits(
  at: DatabasePlace,
  clock: () => number,
  onUnreadable: (found: Error) => void = (found) => process.emitWarning(found),
): LimitStore {
  const database = openDatabase(at, SCHEMA);
  const sql = {
    get: database.prepare('SELECT revision, record FROM clients WHERE key = ?'),
    create: database.prepare('INSERT INTO clients (key, record, lapses_at) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING'),
    // One statement is one transaction: the row is replaced, with a new revision, only while it has the expected one.
    update: database.prepare(
      'INSERT OR REPLACE INTO clients (key, record, lapses_at) SELECT key, ?, ? FROM clients WHERE key = ? AND revision = ?',
    ),
    page: database.prepare('SELECT revision, key, record FROM clients WHERE revision > ? ORDER BY revision LIMIT ?'),
    forget: database.prepare(
      'DELETE FROM clients WHERE revision IN (SELECT revision FROM clients WHERE lapses_at <= ? ORDER BY lapses_at LIMIT ?)',
    ),
  };

  return {
    async get(key) {
      const row = sql.get.get(key);
      if (row === undefined) return undefined;
      return { record: clientFromText(key, String(row['record']), onUnreadable), revision: Number(row['revision']) };
    },

    async put(key, record, revision, lapsesAt) {
      const text = clientToText(record);
      const until = Math.ceil(lapsesAt);
      const { changes } = revision === undefined ? sql.create.run(key, text, until) : sql.update.run(text, until, key, revision);
      if (Number(changes) === 0) throw new RevisionConflict(`client ${key} was changed since revision ${revision ?? 'none'}`);
      sql.forget.run(clock(), FORGET);
    },

    async *scan() {
      for (let after = 0; ; ) {
        const rows = sql.page.all(after, PAGE);
        for (const row of rows) {
          const key = String(row['key']);
          yield { key, record: clientFromText(key, String(row['record']), onUnreadable) };
        }
        if (rows.length < PAGE) return;
        after = Number(rows.at(-1)?.['revision']);
        // Reading is synchronous: a long scan must let requests through.
        await new Promise(setImmediate);
      }
    },

    async close() {
      if (database.isOpen) database.close();
    },
  };
}
