/** Removes folders that a hostile program may have arranged: follows no link, and copes with any depth, mode and name. */
import { randomUUID } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import { chmod, type FileHandle, open, opendir, rename, rmdir, unlink } from 'node:fs/promises';

/** Refers to a path without opening it (open(2); the same value on x86_64 and aarch64). Node has no constant for it. */
const O_PATH = 0o10000000;
/** Each round flattens one level. A folder within its size limit has fewer levels. */
const MOST_ROUNDS = 1_000_000;
/** Files that are read and removed at a time: all of 200,000 would hold the event loop. */
const AT_A_TIME = 64;
/** Names are bytes (see `folder.ts`). */
const READING = { encoding: 'buffer', bufferSize: AT_A_TIME } as unknown as { encoding: 'latin1'; bufferSize: number };

/**
 * Does what `rm -rf` does. Folders are held open while they are emptied, and deeper ones are first moved up: a path could be redirected by a
 * link, or be longer than the kernel accepts.
 */
export async function removeTree(path: string): Promise<void> {
  const top = await hold(Buffer.from(path)).catch((error: unknown) => (codeOf(error) === 'ENOENT' ? undefined : fileAt(path, error)));
  if (top === undefined) return;
  try {
    for (let round = 0, full = await clear(top); round < MOST_ROUNDS; round++, full = await clear(top)) {
      for (const name of full) await raise(inside(top, name), top);
      // Where names go while they are read, some file systems leave others out.
      if (full.length === 0 && (await isRemoved(path))) return;
    }
  } finally {
    await top.close();
  }
  await rmdir(path);
}

/** False if it still holds something. */
async function isRemoved(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY') throw error;
    return false;
  }
}

/** Removes files, links and empty folders. @returns names of the folders that hold something */
async function clear(folder: FileHandle): Promise<Buffer[]> {
  const full: Buffer[] = [];
  const remove = async (name: Buffer): Promise<void> => {
    const path = inside(folder, name);
    try {
      await unlink(path).catch((error: unknown) => (codeOf(error) === 'EISDIR' ? rmdir(path) : Promise.reject(error)));
    } catch (error) {
      if (codeOf(error) === 'ENOTEMPTY') full.push(name);
      else if (codeOf(error) !== 'ENOENT') throw error;
    }
  };
  let batch: Promise<void>[] = [];
  for await (const { name } of (await opendir(inside(folder), READING)) as AsyncIterable<Dirent<Buffer>>) {
    if (batch.push(remove(name)) < AT_A_TIME) continue;
    await Promise.all(batch);
    batch = [];
  }
  await Promise.all(batch);
  return full;
}

/** Clears a folder, and moves the folders in it that hold something to the top. */
async function raise(path: Buffer, top: FileHandle): Promise<void> {
  const folder = await hold(path);
  try {
    for (const name of await clear(folder)) {
      // `hold` changes its mode, without which it could not be moved.
      await (await hold(inside(folder, name))).close();
      await rename(inside(folder, name), inside(top, Buffer.from(randomUUID())));
    }
  } finally {
    await folder.close();
  }
}

/** @throws if it is no folder, or a link to one */
async function hold(path: Buffer): Promise<FileHandle> {
  const folder = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  // Unless we are root, a folder closed to its owner could be neither read nor moved.
  await chmod(inside(folder), 0o700);
  return folder;
}

async function fileAt(path: string, error: unknown): Promise<undefined> {
  if (codeOf(error) !== 'ENOTDIR' && codeOf(error) !== 'ELOOP') throw error;
  await unlink(path);
}

const inside = ({ fd }: FileHandle, name?: Buffer): Buffer =>
  name === undefined ? Buffer.from(`/proc/self/fd/${fd}`) : Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
