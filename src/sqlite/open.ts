/** The embedded database: one SQLite file, in which every store has separate tables, and which several processes of one machine may hold open. */
import { DatabaseSync, type StatementSync } from 'node:sqlite';

/** How long a statement waits for another process's write, ms. It blocks this process meanwhile, but a write takes microseconds. */
export const BUSY_MS = 5_000;

/**
 * A crashed process loses nothing that was committed; a power cut may lose the last writes, never the file (`synchronous=NORMAL` under WAL,
 * https://sqlite.org/pragma.html#pragma_synchronous).
 */
export const PRAGMAS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL';

/** What one store sees of it. */
export interface Database {
  readonly isOpen: boolean;
  exec(sql: string): void;
  prepare(sql: string): Pick<StatementSync, 'get' | 'all' | 'run'>;
  /** Makes all changes of `work` or none. */
  atomically<T>(work: () => T): T;
  close(): void;
}

/** Path of the file, in an existing folder: each change is committed at once. Or a connection that all stores of the process share. */
export type DatabasePlace = string | { open(schema: string): Database };

/**
 * @param schema statements that make what is missing
 */
export function openDatabase(at: DatabasePlace, schema: string): Database {
  if (typeof at !== 'string') return at.open(schema);
  const database = new DatabaseSync(at, { timeout: BUSY_MS });
  database.exec(PRAGMAS);
  database.exec(schema);
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((sql) => database.prepare(sql));
  return {
    get isOpen() {
      return database.isOpen;
    },
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    atomically(work) {
      begin?.run();
      try {
        const result = work();
        commit?.run();
        return result;
      } catch (error) {
        if (database.isTransaction) rollback?.run();
        throw error;
      }
    },
    close: () => database.close(),
  };
}

/**
 * Brings a table of an older filemill to its present shape, once. What runs on it meanwhile goes on: columns have defaults.
 * @param backfill what the existing rows get, as statements
 */
export function addColumn(database: Database, table: string, column: string, definition: string, backfill = ''): void {
  const has = () => database.prepare(`SELECT 1 FROM pragma_table_info('${table}') WHERE name = ?`).get(column) !== undefined;
  if (has()) return;
  database.atomically(() => {
    // Another process may have been faster.
    if (!has()) database.exec(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}; ${backfill}`);
  });
}
