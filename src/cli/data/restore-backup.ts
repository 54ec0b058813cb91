/** Restores a backup into an empty data folder: unpacks it beside the folder, checks it against its manifest, and moves it into place as a whole. */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { removeTree } from '../../exec/files/remove.ts';
import { hashOf } from '../../exec/models/hash.ts';
import { DATABASE, KEY_FILE, lockFolder, OBJECTS, openFolder } from '../../roles/machine/data-dir.ts';
import { CannotStart } from '../../roles/process/cannot-start.ts';
import { DATA_VERSION } from '../../sqlite/data-version.ts';
import { BACKUP_FORMAT, type BackupManifest, MANIFEST } from './stage-backup.ts';

const STAGING = 'restore~';

const manifestSchema = z.object({
  format: z.number().int(),
  version: z.string(),
  dataVersion: z.number().int(),
  createdAt: z.string(),
  jobs: z.number().int(),
  files: z.number().int(),
  bytes: z.number().int(),
  database: z.string(),
});

/**
 * @param dataDir without a service and without data; created where it is missing
 * @param unpack puts the files of a backup into a folder @param version of this program
 * @returns the manifest of the backup
 * @throws CannotStart, and then the folder has no data
 */
export async function restoreBackup(dataDir: string, unpack: (folder: string) => Promise<void>, version: string): Promise<BackupManifest> {
  openFolder(dataDir);
  const unlock = lockFolder(dataDir);
  const folder = join(dataDir, STAGING);
  try {
    refuseData(dataDir);
    await removeTree(folder);
    mkdirSync(folder, { mode: 0o700 });
    await unpack(folder);
    const manifest = await checked(folder, version);
    putInPlace(folder, dataDir);
    return manifest;
  } finally {
    await removeTree(folder);
    unlock();
  }
}

function refuseData(dataDir: string): void {
  const objects = join(dataDir, OBJECTS);
  const found = lstatSync(objects, { throwIfNoEntry: false });
  if (found !== undefined && (found.isSymbolicLink() || found.dev !== statSync(dataDir).dev))
    throw new CannotStart(
      `${objects} is a link or another disk, and a restored folder takes its place: move it away or unmount it, restore, and then move the files to it`,
    );
  const there = existsSync(join(dataDir, DATABASE))
    ? DATABASE
    : existsSync(objects) && readdirSync(objects).length > 0
      ? OBJECTS
      : undefined;
  if (there !== undefined)
    throw new CannotStart(`${dataDir} has data (${there}): set DATA_DIR to an empty folder, or move what is there away`);
}

/** @throws CannotStart unless it is a complete backup that this program reads */
async function checked(folder: string, version: string): Promise<BackupManifest> {
  const manifest = readManifest(folder);
  if (manifest.format > BACKUP_FORMAT || manifest.dataVersion > DATA_VERSION)
    throw new CannotStart(
      `the backup was made by filemill ${manifest.version} (version ${manifest.dataVersion} of the data), and this one, ${version}, reads versions up to ${DATA_VERSION}: restore it by filemill ${manifest.version} or a newer one`,
    );
  const database = join(folder, DATABASE);
  if (!existsSync(database) || (await hashOf(database)) !== manifest.database)
    throw new CannotStart('the backup is damaged: its database is not the one that was backed up');
  const { files, bytes } = measure(join(folder, OBJECTS));
  if (files !== manifest.files || bytes !== manifest.bytes)
    throw new CannotStart(
      `the backup is damaged: it has ${files} files with ${bytes} bytes, and ${manifest.files} files with ${manifest.bytes} bytes were backed up`,
    );
  return manifest;
}

function readManifest(folder: string): BackupManifest {
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8')));
  } catch (cause) {
    throw new CannotStart(`this is no backup of filemill: it has no ${MANIFEST} that can be read`, { cause });
  }
}

/** Plain files only: nothing else is ever stored. */
function measure(folder: string): { readonly files: number; readonly bytes: number } {
  if (!existsSync(folder)) return { files: 0, bytes: 0 };
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      if (!entry.isFile()) throw new CannotStart(`the backup is damaged: ${entry.name} is no plain file`);
      return lstatSync(join(entry.parentPath, entry.name)).size;
    });
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** The database last: where it is missing, the folder has no data. */
function putInPlace(folder: string, dataDir: string): void {
  // Each is moved within its disk. An empty folder may be where the files go.
  rmSync(join(dataDir, OBJECTS), { recursive: true, force: true });
  for (const name of [OBJECTS, KEY_FILE]) if (existsSync(join(folder, name))) renameSync(join(folder, name), join(dataDir, name));
  for (const log of ['-wal', '-shm']) rmSync(join(dataDir, `${DATABASE}${log}`), { force: true });
  renameSync(join(folder, DATABASE), join(dataDir, DATABASE));
}
