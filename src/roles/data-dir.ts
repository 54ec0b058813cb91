/** The data folder of an embedded service: one process at a time, and a key of its own. */
import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Held by the kernel's file lock under an SQLite transaction: it goes with the process, however that ends.
 * @returns the release @throws when another process holds the folder
 */
export function lockFolder(folder: string): () => void {
  const lock = new DatabaseSync(join(folder, 'lock.db'));
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    throw new Error(`another filemill is running on ${folder}: stop it, or set DATA_DIR`, { cause });
  }
  return () => lock.close();
}

/** The key that passwords are sealed with: made at the first start, readable by us alone. */
export async function keyFile(folder: string): Promise<string> {
  const path = join(folder, 'secret.key');
  await writeFile(path, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  chmodSync(path, 0o600);
  return readFile(path, 'utf8');
}
