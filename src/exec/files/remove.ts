/** Removes folders that a hostile program may have arranged: no link is followed, and no depth, mode or name is too much. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';

/** Holds a place without opening it (open(2); the same on x86_64 and aarch64). Node has no name for it. */
const O_PATH = 0o10000000;
/** Each round flattens one level: more levels than a folder within its bound of bytes can have. */
const MOST_ROUNDS = 1_000_000;

/**
 * Does what `rm -rf` does. Folders are held open while they are emptied, and what lies deeper is first moved up: a path of names
 * could be led elsewhere by a link, or grow longer than the kernel takes.
 */
export async function removeTree(path: string): Promise<void> {
  const top = await hold(Buffer.from(path)).catch((error: unknown) => (codeOf(error) === 'ENOENT' ? undefined : fileAt(path, error)));
  if (top === undefined) return;
  try {
    for (let round = 0, full = await clear(top); full.length > 0 && round < MOST_ROUNDS; round++, full = await clear(top)) {
      for (const name of full) await raise(inside(top, name), top);
    }
  } finally {
    await top.close();
  }
  await rmdir(path);
}

/** Removes files, links and empty folders. @returns names of the folders that hold something */
async function clear(folder: FileHandle): Promise<Buffer[]> {
  const full: Buffer[] = [];
  for (const name of await readdir(inside(folder), 'buffer')) {
    const path = inside(folder, name);
    try {
      await unlink(path).catch((error: unknown) => (codeOf(error) === 'EISDIR' ? rmdir(path) : Promise.reject(error)));
    } catch (error) {
      if (codeOf(error) === 'ENOTEMPTY') full.push(name);
      else if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
  return full;
}

/** Clears a folder, and moves the folders in it that hold something to the top. */
async function raise(path: Buffer, top: FileHandle): Promise<void> {
  const folder = await hold(path);
  try {
    for (const name of await clear(folder)) {
      // Held for a moment, as that makes it ours to move.
      await (await hold(inside(folder, name))).close();
      await rename(inside(folder, name), inside(top, Buffer.from(randomUUID())));
    }
  } finally {
    await folder.close();
  }
}

/** @throws where it is no folder, or a link to one */
async function hold(path: Buffer): Promise<FileHandle> {
  const folder = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  // Without root's rights, a folder closed to its owner could be neither read nor moved.
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
