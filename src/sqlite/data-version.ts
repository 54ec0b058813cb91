/**
 * The version of what one machine stores: the database, and the files beside it. A program takes over older data at its start, and refuses newer:
 * it would read records wrongly, or delete the files of those that it cannot read.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Changes the database from the version that is this step's place in the list to the next. @throws what undoes all of them */
export type DataStep = (database: DatabaseSync) => void;

/**
 * One step for each version. A column with a default needs none: the program before can write such a table (`addColumn`). A step is due where that
 * program could not read what is written then; after it, only a backup leads back.
 */
const STEPS: readonly DataStep[] = [
  // What was written before there were versions has the shape of version 1, or gets it from the stores' `addColumn`.
  () => {},
];

/** What this program writes, and the newest that it reads. */
export const DATA_VERSION = STEPS.length;

/** Waits for another process's write, ms. */
const BUSY_MS = 5_000;

const SCHEMA = `CREATE TABLE IF NOT EXISTS programs (
  version TEXT PRIMARY KEY, data_version INTEGER NOT NULL, started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;`;

export class NewerData extends Error {
  override readonly name = 'NewerData';
}

/**
 * Brings the database to this program's version, all steps or none, and notes that the program has used it. Before any store opens it.
 * @param path of the file, in an existing folder @param program its version @param now ms since the epoch @param steps all there are, for a test
 * @returns the version that was found; undefined where there was no database
 * @throws NewerData, and then nothing was written
 */
export function takeOver(path: string, program: string, now: number, steps: readonly DataStep[] = STEPS): number | undefined {
  const found = refuseNewer(path, program, steps.length);
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    database.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE');
    for (const step of steps.slice(found ?? steps.length)) step(database);
    database.exec(SCHEMA);
    database
      .prepare('INSERT OR REPLACE INTO programs (version, data_version, started_at) VALUES (?, ?, ?)')
      .run(program, steps.length, now);
    // In the database's header: it is part of the transaction (https://sqlite.org/pragma.html#pragma_user_version).
    database.exec(`PRAGMA user_version = ${steps.length}; COMMIT`);
  } finally {
    // What is not committed is undone.
    database.close();
  }
  return found;
}

/** @param readable the newest version that the program reads @returns the version found; undefined where there is none @throws NewerData */
export function refuseNewer(path: string, program: string, readable = DATA_VERSION): number | undefined {
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
  try {
    const version = dataVersionOf(database);
    if (version <= readable) return isEmpty(database) ? undefined : version;
    const writer = writerOf(database);
    throw new NewerData(
      `${path} was written by ${writer === undefined ? 'a newer filemill' : `filemill ${writer}`} (version ${version} of the data), and this one, ${program}, reads versions up to ${readable}: start ${writer === undefined ? 'that one' : `filemill ${writer}`} or a newer one, restore a backup from before the upgrade into an empty folder, or set DATA_DIR to another folder`,
    );
  } finally {
    database.close();
  }
}

/** The version of an open database; 0 before there were versions. */
export const dataVersionOf = (database: DatabaseSync): number =>
  Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);

/** A program that was killed at its first start leaves such a file. */
const isEmpty = (database: DatabaseSync): boolean => database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;

/** The program that wrote the newest data. */
function writerOf(database: DatabaseSync): string | undefined {
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'programs'").get() === undefined) return undefined;
  const row = database.prepare('SELECT version FROM programs ORDER BY data_version DESC, started_at DESC LIMIT 1').get();
  return row === undefined ? undefined : String(row['version']);
}
