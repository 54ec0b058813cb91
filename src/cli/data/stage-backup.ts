/**
 * A copy of a data folder as one file, taken while a service writes there. Files in the store never change, so a hard link to each keeps
 * its content, whatever the service deletes meanwhile. The database is then copied as it was at the instant when the last files were listed.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  type Dirent,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { isAlive } from '../../alive.ts';
import { removeTree } from '../../exec/files/remove.ts';
import { hashOf } from '../../exec/models/hash.ts';
import { isTemporary } from '../../objects/temporary.ts';
import { DATABASE, databaseIn, KEY_FILE, OBJECTS } from '../../roles/machine/data-dir.ts';
import { CannotStart, errorCode } from '../../roles/process/cannot-start.ts';
import { dataVersionOf } from '../../sqlite/data-version.ts';

/** Version of the layout of a backup. */
export const BACKUP_FORMAT = 1;
export const MANIFEST = 'backup.json';

/** What is in a backup: it is checked against this when it is restored. */
export interface BackupManifest {
  readonly format: number;
  /** The filemill that made it. */
  readonly version: string;
  /** Version of the data: older than this program's where it has not started there yet. */
  readonly dataVersion: number;
  readonly createdAt: string;
  readonly jobs: number;
  readonly files: number;
  /** All files together. */
  readonly bytes: number;
  /** SHA-256 of the database, in hexadecimal. */
  readonly database: string;
}

/** Where a backup is staged: within the data folder, because a hard link must be on the same disk. Files on another disk are copied. */
const STAGING = 'backup~';
/**
 * How long the service's writes are held up at most, ms: well below the time that they can wait (`sqlite/open.ts`). Only the files that were added
 * since the first pass are linked meanwhile, which takes microseconds each.
 */
const HELD_MS = 1_500;
/** All pages are copied in one step, so that the copy is of one instant, as the reader's transaction is. */
const ALL_PAGES = 2 ** 31 - 1;
const TRIES = 5;
const BETWEEN_TRIES_MS = 200;
/** How long to wait for the lock of the database, which other writers take in turn, ms. */
const LOCK_MS = 10_000;

export interface Staged {
  /** With the manifest, the database, the key and the files. */
  readonly folder: string;
  readonly manifest: BackupManifest;
  remove(): Promise<void>;
}

/**
 * @param dataDir of a service, which may be running; this process may read and write there
 * @param version of this program @param clock ms since the epoch
 * @throws CannotStart
 */
export async function stageBackup(dataDir: string, version: string, clock: () => number): Promise<Staged> {
  const database = databaseIn(dataDir, version);
  await removeAbandoned(dataDir);
  const folder = join(dataDir, `${STAGING}${process.pid}-${randomBytes(4).toString('hex')}`);
  const remove = () => removeTree(folder);
  try {
    mkdirSync(folder, { mode: 0o700 });
    const files = await stageAll(dataDir, database, folder);
    const copy = join(folder, DATABASE);
    const { jobs, dataVersion } = settle(copy);
    const key = join(dataDir, KEY_FILE);
    if (existsSync(key)) {
      copyFileSync(key, join(folder, KEY_FILE));
      chmodSync(join(folder, KEY_FILE), 0o600);
    }
    const manifest: BackupManifest = {
      format: BACKUP_FORMAT,
      version,
      dataVersion,
      createdAt: new Date(clock()).toISOString(),
      jobs,
      files: files.size,
      bytes: [...files].reduce((sum, name) => sum + statSync(join(folder, OBJECTS, name)).size, 0),
      database: await hashOf(copy),
    };
    writeFileSync(join(folder, MANIFEST), `${JSON.stringify(manifest, undefined, 1)}\n`);
    return { folder, manifest, remove };
  } catch (error) {
    await remove();
    if (error instanceof CannotStart) throw error;
    const advice = ['EACCES', 'EPERM'].includes(errorCode(error)) ? ": run this as the service's user, or as root" : '';
    throw new CannotStart(`${dataDir} cannot be backed up (${(error as Error).message})${advice}`, { cause: error });
  }
}

/** Links the files and copies the database. @returns the names of the files, below the folder of objects */
async function stageAll(dataDir: string, database: string, folder: string): Promise<ReadonlySet<string>> {
  const [from, to] = [join(dataDir, OBJECTS), join(folder, OBJECTS)];
  mkdirSync(to, { mode: 0o700 });
  const staged = new Set<string>();
  for (let tried = 1; tried <= TRIES; tried++) {
    // Most of them are linked without holding up the service.
    linkNew(from, to, staged);
    const reader = new DatabaseSync(database, { readOnly: true, timeout: LOCK_MS });
    try {
      if (withWritesHeld(database, reader, () => linkNew(from, to, staged, HELD_MS))) {
        await backup(reader, join(folder, DATABASE), { rate: ALL_PAGES });
        return staged;
      }
    } finally {
      reader.close();
    }
    await pause(BETWEEN_TRIES_MS);
  }
  throw new CannotStart(`${dataDir} changes too fast to be backed up while the service runs: its files cannot be listed in ${HELD_MS} ms`);
}

/**
 * Runs `work` while no process writes to the database. Meanwhile no file of its records is added or removed: a file is stored before the record that
 * names it, and deleted after it.
 * @param reader begins a transaction at this instant @returns what `work` returned
 */
function withWritesHeld(path: string, reader: DatabaseSync, work: () => boolean): boolean {
  const writer = new DatabaseSync(path, { timeout: LOCK_MS });
  try {
    writer.exec('BEGIN IMMEDIATE');
    // A transaction sees the database as it is at its first read.
    reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    return work();
  } finally {
    writer.close();
  }
}

/**
 * Links the files that are not linked yet, and removes the links of those that are gone.
 * @param staged names of the linked files, updated here @param withinMs set while the service's writes wait: then no file is copied, as it may be large
 * @returns false if it took longer than allowed, or a new file would have to be copied
 */
function linkNew(from: string, to: string, staged: Set<string>, withinMs?: number): boolean {
  const until = performance.now() + (withinMs ?? Number.POSITIVE_INFINITY);
  const there = new Set<string>();
  for (const name of filesIn(from)) {
    if (performance.now() > until) return false;
    if (staged.has(name)) there.add(name);
    else {
      const done = linked(join(from, name), join(to, name));
      if (done === 'cannot' && withinMs !== undefined) return false;
      if (done === 'linked' || (done === 'cannot' && isCopied(join(from, name), join(to, name)))) there.add(name);
    }
  }
  for (const name of staged) if (!there.has(name)) removeName(to, name);
  staged.clear();
  for (const name of there) staged.add(name);
  return true;
}

/** Paths of the complete files below the folder. Folders may disappear meanwhile: Node's own walk would fail there. */
function* filesIn(folder: string, below = ''): Generator<string> {
  for (const entry of entriesOf(join(folder, below))) {
    if (entry.isDirectory()) yield* filesIn(folder, join(below, entry.name));
    else if (entry.isFile() && !isTemporary(entry.name)) yield join(below, entry.name);
  }
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Some file systems, of networks and of memory cards, have no hard links, and the store may be on another disk than the data folder. */
const CANNOT_LINK: ReadonlySet<string> = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'EMLINK', 'EXDEV']);

function linked(from: string, to: string): 'linked' | 'gone' | 'cannot' {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  try {
    linkSync(from, to);
    return 'linked';
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'gone';
    if (CANNOT_LINK.has(errorCode(error))) return 'cannot';
    throw error;
  }
}

/** False where the file has gone meanwhile. */
function isCopied(from: string, to: string): boolean {
  try {
    copyFileSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

function removeName(folder: string, name: string): void {
  rmSync(join(folder, name), { force: true });
  try {
    rmdirSync(dirname(join(folder, name)));
  } catch {
    // The folder is not empty, or is `folder` itself.
  }
}

/** Checks the database and makes it one file, without a write-ahead log beside it. @returns how many jobs it has, and the version of its data @throws CannotStart */
function settle(path: string): { readonly jobs: number; readonly dataVersion: number } {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA journal_mode = DELETE');
    const found = String(database.prepare('PRAGMA quick_check').get()?.['quick_check']);
    if (found !== 'ok') throw new CannotStart(`the database is damaged (${found}): restore an older backup`);
    const jobs = Number(database.prepare('SELECT count(*) AS jobs FROM jobs').get()?.['jobs'] ?? 0);
    return { jobs, dataVersion: dataVersionOf(database) };
  } finally {
    database.close();
  }
}

/** Removes what killed backups have left. */
async function removeAbandoned(dataDir: string): Promise<void> {
  for (const name of readdirSync(dataDir)) {
    const pid = /^backup~(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)))) await removeTree(join(dataDir, name));
  }
}
