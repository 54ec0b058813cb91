/**
 * Removes folders that a hostile program may have arranged: follows no link, and copes with any depth, mode and name. Calls that the kernel answers
 * from memory are synchronous: a turn of the thread pool would cost twenty times that. A folder has a block on the disk, which some file systems
 * wait for when they give it back (mount(8), `discard`): a thread removes it, once no descriptor of ours holds it.
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, constants, type Dirent, lstatSync, opendirSync, openSync, renameSync, unlinkSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { unlinkFile } from '../../streams/unlink.ts';

/** Refers to a path without opening it (open(2); the same value on x86_64 and aarch64). Node has no constant for it. */
const O_PATH = 0o10000000;
/** Each round flattens one level. A folder within its size limit has fewer levels. */
const MOST_ROUNDS = 1_000_000;
/** Folders of honest programs are no deeper: they need no second round. */
const LEVELS = 3;
/** Entries that are removed at a time: all of 200,000 would hold the event loop. */
const AT_A_TIME = 64;
/** Names are bytes (see `folder.ts`). */
const READING = { encoding: 'buffer', bufferSize: AT_A_TIME } as unknown as { encoding: 'latin1'; bufferSize: number };

/**
 * Does what `rm -rf` does. Folders are held open while they are emptied, and deeper ones are first moved up: a path could be redirected by a
 * link, or be longer than the kernel accepts.
 */
export async function removeTree(path: string): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const full = await flatten(path);
    if (full === undefined) return;
    // Some file systems skip names where others are removed while the folder is read.
    if (full === 0 && (await isRemoved(path))) return;
  }
  await rmdir(path);
}

/** @returns how many folders in it still held something; undefined where there is no folder */
async function flatten(path: string): Promise<number | undefined> {
  using top = topAt(path);
  if (top === undefined) return undefined;
  const full = await clear(top, LEVELS);
  for (const name of full) await raise(inside(top, name), top);
  return full.length;
}

/** Undefined where there is no folder, or there is none any more: a file or a link is removed. */
function topAt(path: string): OpenFolder | undefined {
  try {
    return hold(Buffer.from(path));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (codeOf(error) !== 'ENOTDIR' && codeOf(error) !== 'ELOOP') throw error;
    unlinkSync(path);
    return undefined;
  }
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

/**
 * Removes files, links and folders.
 * @param levels of folders in it that are emptied, too: each holds descriptors @returns names of the folders that hold something
 */
async function clear(folder: OpenFolder, levels = 0): Promise<Buffer[]> {
  const folders: Buffer[] = [];
  const directory = opendirSync(inside(folder), READING);
  let waited: Promise<void>[] = [];
  try {
    for (let seen = 1; ; seen++) {
      const entry = directory.readSync() as Dirent<Buffer> | null;
      if (entry === null) break;
      if (entry.isDirectory()) folders.push(entry.name);
      else waited.push(...removeFile(inside(folder, entry.name)));
      if (seen % AT_A_TIME !== 0) continue;
      await Promise.all([...waited, setImmediate()]);
      waited = [];
    }
    await Promise.all(waited);
  } finally {
    // Threads still use paths of the descriptors that are closed next.
    await Promise.allSettled(waited);
    directory.closeSync();
  }
  const full: Buffer[] = [];
  // One after the other: a thread at a time for each tree.
  for (const name of folders) if (!(await removeFolder(inside(folder, name), levels))) full.push(name);
  return full;
}

/** @returns false for a folder that still holds something */
async function removeFolder(path: Buffer, levels: number): Promise<boolean> {
  try {
    if (levels > 0) {
      using folder = hold(path);
      await clear(folder, levels - 1);
    }
    await rmdir(path);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ENOTEMPTY' && unlessChanged(error);
  }
}

/** Removes it at once, or in a thread. */
function removeFile(path: Buffer): readonly Promise<void>[] {
  try {
    const removal = unlinkFile(path, lstatSync(path).size);
    return removal === undefined ? [] : [removal.catch((error: unknown) => void unlessChanged(error))];
  } catch (error) {
    unlessChanged(error);
    return [];
  }
}

/** It was removed, or replaced by something else, which the next round finds. */
function unlessChanged(error: unknown): true {
  if (['ENOENT', 'EISDIR', 'ENOTDIR'].includes(codeOf(error) ?? '')) return true;
  throw error;
}

/** Clears a folder, and moves the folders in it that hold something to the top. */
async function raise(path: Buffer, top: OpenFolder): Promise<void> {
  try {
    using folder = hold(path);
    for (const name of await clear(folder)) {
      // `hold` changes its mode, without which it could not be moved.
      hold(inside(folder, name))[Symbol.dispose]();
      renameSync(inside(folder, name), inside(top, Buffer.from(randomUUID())));
    }
  } catch (error) {
    unlessChanged(error);
  }
}

interface OpenFolder extends Disposable {
  readonly fd: number;
}

/** @throws if it is no folder, or a link to one */
function hold(path: Buffer): OpenFolder {
  const fd = openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    // Unless we are root, a folder closed to its owner could be neither read nor moved.
    chmodSync(`/proc/self/fd/${fd}`, 0o700);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}

const inside = ({ fd }: OpenFolder, name?: Buffer): Buffer =>
  name === undefined ? Buffer.from(`/proc/self/fd/${fd}`) : Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
