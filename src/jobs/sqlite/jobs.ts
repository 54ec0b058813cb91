/** Job records in one SQLite file, which several processes of one machine may hold open. */

import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { RevisionConflict } from '../../errors.ts';
import { addColumn, type DatabasePlace, openDatabase } from '../../sqlite/open.ts';
import { arrive, TOMBSTONE_MS } from '../lifecycle.ts';
import type { Due, JobStore, Stored } from '../store.ts';
import { fromText, toText, type Unreadable } from '../text.ts';

/**
 * AUTOINCREMENT never reuses a number, so that a record removed and created again cannot match an old revision. Each write makes a record
 * due immediately (`due_at` 0), even a write of an older filemill.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS jobs (revision INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL, due_at INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
`;

/** The older filemill has cleaned up its ended jobs: they are due when they expire, or when their tombstones do. */
const backfillAt = (now: number): string => `
  UPDATE jobs SET due_at = (record ->> '$.expiresAt') + iif((record ->> '$.expiresAt') <= ${now}, ${TOMBSTONE_MS}, 0)
  WHERE json_valid(record) AND (record ->> '$.state') IN ('done', 'error') AND typeof(record ->> '$.expiresAt') = 'integer'`;

/** Records per page of a scan: no statement stays open between pages, which would keep the write-ahead log from being emptied. */
const PAGE = 64;

/**
 * @param at the database file, in an existing folder, or a connection to it; the queue may keep its tables in the same one
 * @param clock ms since the epoch
 * @param unreadable called for records that a scan had to skip
 * @param exclusive no other process uses the store: locks that are held belong to a process that died
 */
export function openSqliteJobs(
  at: DatabasePlace,
  clock: () => number,
  unreadable: (found: Unreadable) => void = (found) => process.emitWarning(found),
  { exclusive = false }: { readonly exclusive?: boolean } = {},
): JobStore {
  const database = openDatabase(at, SCHEMA);
  addColumn(database, 'jobs', 'due_at', 'INTEGER NOT NULL DEFAULT 0', backfillAt(clock()));
  database.exec('CREATE INDEX IF NOT EXISTS jobs_by_due ON jobs (due_at, id)');
  if (exclusive) database.exec('DELETE FROM locks');
  const sql = {
    create: database.prepare('INSERT INTO jobs (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING RETURNING revision'),
    get: database.prepare('SELECT id, revision, record FROM jobs WHERE id = ?'),
    // One statement is one transaction: the row is replaced, with a new number, only while it has the expected revision.
    update: database.prepare(
      'INSERT OR REPLACE INTO jobs (id, record) SELECT id, ? FROM jobs WHERE id = ? AND revision = ? RETURNING revision',
    ),
    remove: database.prepare('DELETE FROM jobs WHERE id = ? AND revision = ?'),
    page: database.prepare('SELECT id, revision, record FROM jobs WHERE id > ? ORDER BY id LIMIT ?'),
    due: database.prepare(
      `SELECT id, revision, due_at, iif(json_valid(record), record ->> '$.pool', NULL) AS pool,
         iif(json_valid(record), record ->> '$.createdAt', NULL) AS created
       FROM jobs WHERE (due_at, id) > (?, ?) AND due_at <= ? ORDER BY due_at, id LIMIT ?`,
    ),
    settle: database.prepare('UPDATE jobs SET due_at = ? WHERE id = ? AND revision = ?'),
    lock: database.prepare(
      `INSERT INTO locks (name, holder, until) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE until <= ? RETURNING holder`,
    ),
    renew: database.prepare('UPDATE locks SET until = ? WHERE name = ? AND holder = ?'),
    unlock: database.prepare('DELETE FROM locks WHERE name = ? AND holder = ?'),
  };
  const changes = new EventEmitter().setMaxListeners(0);
  // In a microtask: a watcher must not run inside, nor throw into, the write that it observes.
  const changed = (id: string) => void queueMicrotask(() => changes.emit(eventOf(id)));

  return {
    async create(record) {
      const row = sql.create.get(record.id, toText(record));
      if (row === undefined) throw new RevisionConflict(`job ${record.id} exists already`);
      changed(record.id);
      return { record, revision: Number(row['revision']) };
    },

    async get(id) {
      const row = sql.get.get(id);
      return row === undefined ? undefined : storedIn(row);
    },

    async update(record, revision) {
      const row = sql.update.get(toText(record), record.id, revision);
      if (row === undefined) throw new RevisionConflict(`job ${record.id} was changed or removed since revision ${revision}`);
      changed(record.id);
      return { record, revision: Number(row['revision']) };
    },

    async move(left, revision) {
      const record = arrive(left);
      const row = sql.update.get(toText(record), record.id, revision);
      if (row === undefined) throw new RevisionConflict(`job ${record.id} was changed or removed since revision ${revision}`);
      changed(record.id);
      return { record, revision: Number(row['revision']) };
    },

    async remove(id, revision) {
      const { changes: removed } = sql.remove.run(id, revision);
      if (removed === 0 && sql.get.get(id) !== undefined) throw new RevisionConflict(`job ${id} was changed since revision ${revision}`);
      if (removed !== 0) changed(id);
    },

    /** Observes only this process's writes: those of others show only when read. */
    watch(id, listener) {
      // Its own function, so that a listener given twice is also removed once.
      const own = () => listener();
      changes.on(eventOf(id), own);
      return () => void changes.off(eventOf(id), own);
    },

    async *scan() {
      let last = '';
      for (;;) {
        const rows = sql.page.all(last, PAGE);
        for (const row of rows) {
          last = String(row['id']);
          const stored = readable(row, unreadable);
          if (stored !== undefined) yield stored;
        }
        if (rows.length < PAGE) return;
        // Reading is synchronous: a long scan must let requests through.
        await new Promise(setImmediate);
      }
    },

    async *due(now) {
      let [dueAt, id] = [-1, ''];
      for (;;) {
        const rows = sql.due.all(dueAt, id, now, PAGE);
        for (const row of rows) {
          dueAt = Number(row['due_at']);
          id = String(row['id']);
          yield dueIn(
            row,
            (until) => void sql.settle.run(Math.min(until, Number.MAX_SAFE_INTEGER), String(row['id']), Number(row['revision'])),
          );
        }
        if (rows.length < PAGE) return;
        await new Promise(setImmediate);
      }
    },

    async withLock(name, ttlMs, work) {
      const holder = randomUUID();
      if (sql.lock.get(name, holder, clock() + ttlMs, clock()) === undefined) return false;
      const renewal = setInterval(() => {
        try {
          sql.renew.run(clock() + ttlMs, name, holder);
        } catch (error) {
          // A full disk, or the database was closed: the lease then expires, which is what it is for.
          process.emitWarning(error as Error);
        }
      }, ttlMs / 3);
      try {
        await work();
      } finally {
        clearInterval(renewal);
        if (database.isOpen) sql.unlock.run(name, holder);
      }
      return true;
    },

    async close() {
      changes.removeAllListeners();
      if (database.isOpen) database.close();
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

/** An EventEmitter throws on an event named `error` without a listener: no job's event may have that name. */
const eventOf = (id: string): string => `job ${id}`;

function storedIn(row: Row): Stored {
  return { record: fromText(String(row['id']), String(row['record'])), revision: Number(row['revision']) };
}

function dueIn(row: Row, settleAt: (until: number) => void): Due {
  const { pool, created } = row;
  return {
    id: String(row['id']),
    pool: typeof pool === 'string' ? pool : undefined,
    createdAt: typeof created === 'number' ? created : 0,
    settle: async (until = Number.POSITIVE_INFINITY) => settleAt(until),
  };
}

function readable(row: Row, report: (found: Unreadable) => void): Stored | undefined {
  try {
    return storedIn(row);
  } catch (error) {
    report(error as Unreadable);
    return undefined;
  }
}
