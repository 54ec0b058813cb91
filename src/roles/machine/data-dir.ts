/** The data folder of an embedded service: one process at a time, and its own key. */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { everyoneReaches } from '../../exec/confine/stage.ts';
import { NewerData, refuseNewer, takeOver } from '../../sqlite/data-version.ts';
import { CannotStart, errorCode } from '../process/cannot-start.ts';

/** What lies in it beside caches: the database of all stores, the files, and the key. */
export const DATABASE = 'filemill.db';
export const OBJECTS = 'objects';
export const KEY_FILE = 'secret.key';

/**
 * Held by the kernel's file lock under an SQLite transaction: it is released with the process, however that ends.
 * @returns the release @throws CannotStart when another process holds the folder, or it cannot be written
 */
export function lockFolder(folder: string): () => void {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(folder, 'lock.db'));
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (cause) {
    lock?.close();
    if ((cause as { errcode?: number }).errcode === SQLITE_BUSY)
      throw new CannotStart(`another filemill is running on ${folder}: stop it, or set DATA_DIR`, { cause });
    throw notWritable(folder, cause);
  }
  return () => lock.close();
}

/** Code of https://sqlite.org/rescode.html. */
const SQLITE_BUSY = 5;

/** @throws CannotStart where files cannot be created */
export function openFolder(folder: string, called = 'data folder', variable = 'DATA_DIR'): void {
  const trial = join(folder, `trial~${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    // Permissions alone are not enough: a file system may be mounted read-only, or be full.
    writeFileSync(trial, 'x');
    rmSync(trial);
  } catch (cause) {
    throw notWritable(folder, cause, called, variable);
  }
}

const notWritable = (folder: string, cause: unknown, called = 'data folder', variable = 'DATA_DIR'): CannotStart =>
  new CannotStart(`the ${called} ${folder} cannot be written (${errorCode(cause)}): make it writable, or set ${variable}`, { cause });

/** @param version of this program @param now ms since the epoch @returns path of the database, which need not exist yet @throws CannotStart where a newer filemill wrote it */
export function takeOverFolder(folder: string, version: string, now: number): string {
  const path = join(folder, DATABASE);
  orCannotStart(() => takeOver(path, version, now));
  return path;
}

/** For a command beside the service. @returns path of the database @throws CannotStart where there is none, or a newer filemill wrote it */
export function databaseIn(folder: string, version: string): string {
  const path = join(folder, DATABASE);
  if (!existsSync(path)) throw new CannotStart(`there is no service in ${folder}: set DATA_DIR or CONFIG_FILE as for the service`);
  orCannotStart(() => refuseNewer(path, version));
  return path;
}

function orCannotStart(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    throw error instanceof NewerData ? new CannotStart(error.message, { cause: error }) : error;
  }
}

/** The key that encrypts passwords: created at the first start, readable by its owner alone. */
export async function keyFile(folder: string): Promise<string> {
  const path = join(folder, KEY_FILE);
  await writeFile(path, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  chmodSync(path, 0o600);
  return readFile(path, 'utf8');
}

/** The work folder of a service: as root, converters run as users without access to a private home folder. */
export function reachableFolder(dataDir: string): string {
  if (process.getuid?.() !== 0 || everyoneReaches(dataDir)) return join(dataDir, 'work');
  return join('/var/tmp/filemill', dataDir.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-|-$/g, ''));
}
