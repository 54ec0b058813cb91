/** The embedded database: one SQLite file, in which every store has separate tables, and which several processes of one machine may hold open. */
import { DatabaseSync } from 'node:sqlite';

/** How long a statement waits for another process's write, ms. It blocks this process meanwhile, but a write takes microseconds. */
const BUSY_MS = 5_000;

/**
 * A crashed process loses nothing that was answered; a power cut may lose the last writes, never the file (`synchronous=NORMAL` under WAL,
 * https://sqlite.org/pragma.html#pragma_synchronous).
 * @param path of the file, in an existing folder @param schema statements that make what is missing
 */
export function openDatabase(path: string, schema: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec(schema);
  return database;
}

/**
 * Brings a table of an older filemill to its present shape, once. What runs on it meanwhile goes on: columns have defaults.
 * @param backfill what the existing rows get, as statements
 */
export function addColumn(database: DatabaseSync, table: string, column: string, definition: string, backfill = ''): void {
  const has = () => database.prepare(`SELECT 1 FROM pragma_table_info('${table}') WHERE name = ?`).get(column) !== undefined;
  if (has()) return;
  database.exec('BEGIN IMMEDIATE');
  // Another process may have been faster.
  if (!has()) database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}; ${backfill}`);
  database.exec('COMMIT');
}
