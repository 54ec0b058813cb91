/** Objects as files below one folder: a key is the path. */
import { closeSync, constants, createReadStream, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { mkdir, opendir, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { isWithin } from '../paths.ts';
import { isShort } from '../streams/short.ts';
import { unlinkFile } from '../streams/unlink.ts';
import { Missing, type ObjectInfo, type ObjectStore } from './store.ts';
import { isAbandoned, isTemporary } from './temporary.ts';
import { validKey } from './valid-key.ts';
import { codeOf, writeWhole } from './write.ts';

/**
 * Several processes may use the folder at once, on one machine and in one pid namespace: a dead writer is recognised by its process id.
 * No key can lie below another: `a` and `a/b` exclude each other. Files that a crashed process left half-written are removed here, and by
 * every scan that finds them.
 */
export async function openDirectory(root: string): Promise<ObjectStore> {
  const top = resolve(root);
  // Ids in paths are bearer secrets, and converters run under other users.
  await mkdir(top, { recursive: true, mode: 0o700 });
  for await (const _ of filesBelow(top, '', '')) {
    // The walk itself removes abandoned temporary files.
  }

  const pathOf = (key: string): string => join(top, validKey(key));

  /** Removes the folder and its parents while they are empty. rmdir fails for a folder in which a put has its temporary file. */
  async function removeEmpty(folder: string): Promise<void> {
    try {
      // In a thread: some file systems wait for the disk to take a folder's block back.
      for (let at = folder; at !== top && isWithin(top, at); at = dirname(at)) await rmdir(at);
    } catch {
      // It holds something, or has gone.
    }
  }

  return {
    async put(key, source, maxBytes, signal, options) {
      try {
        return await writeWhole(pathOf(key), source, maxBytes, signal, options);
      } catch (error) {
        source.destroy();
        // The folder may have been created for this put alone; a refused key has none.
        if (!(error instanceof RangeError)) await removeEmpty(dirname(pathOf(key)));
        throw error;
      }
    },

    async get(key, range) {
      const { fd, size } = openFile(pathOf(key), key);
      if (!isShort(size)) return createReadStream('', { fd, start: 0, ...range });
      try {
        return Readable.from([part(readFileSync(fd), range)], { objectMode: false });
      } finally {
        closeSync(fd);
      }
    },

    async head(key) {
      const stats = statsOf(pathOf(key));
      return stats?.isFile() ? infoOf(key, stats) : undefined;
    },

    async delete(key) {
      const path = pathOf(key);
      const stats = statsOf(path);
      if (stats !== undefined) await removeFile(path, stats.size);
      await removeEmpty(dirname(path));
    },

    async *scan(prefix) {
      const slash = prefix.lastIndexOf('/');
      const folder = prefix.slice(0, slash + 1);
      if (folder !== '') validKey(folder.slice(0, -1));
      yield* filesBelow(top, folder, prefix.slice(slash + 1));
    },

    /** The path itself, for processes on this machine: it does not expire after `ttlMs`. */
    grantRead: async (key) => pathToFileURL(pathOf(key)).href,
    grantWrite: async (key) => pathToFileURL(pathOf(key)).href,
  };
}

/** Every object below `folder` (empty, or ending in a slash) whose next segment begins with `start`. */
async function* filesBelow(top: string, folder: string, start: string): AsyncGenerator<ObjectInfo> {
  // Folders and files may disappear during the walk: they are skipped.
  const entries = await opendir(join(top, folder)).catch(unlessAbsent);
  if (entries === undefined) return;
  for await (const entry of entries) {
    if (!entry.name.startsWith(start)) continue;
    const key = folder + entry.name;
    if (entry.isDirectory()) {
      yield* filesBelow(top, `${key}/`, '');
      continue;
    }
    const stats = statsOf(join(top, key));
    if (!stats?.isFile()) continue;
    if (!isTemporary(entry.name)) yield infoOf(key, stats);
    else if (isAbandoned(entry.name, stats.mtimeMs)) await removeFile(join(top, key), stats.size);
  }
}

function openFile(path: string, key: string): { readonly fd: number; readonly size: number } {
  const fd = ifThere(() => openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW));
  if (fd === undefined) throw new Missing(`no object ${key}`);
  const stats = fstatSync(fd);
  if (stats.isFile()) return { fd, size: stats.size };
  closeSync(fd);
  throw new Missing(`no object ${key}`);
}

const part = (bytes: Buffer, range: Parameters<ObjectStore['get']>[1]): Buffer =>
  range === undefined ? bytes : bytes.subarray(range.start, range.end + 1);

async function removeFile(path: string, sizeBytes: number): Promise<void> {
  try {
    await unlinkFile(path, sizeBytes);
  } catch (error) {
    unlessAbsent(error);
  }
}

const statsOf = (path: string): Stats | undefined => ifThere(() => lstatSync(path));

/** @returns undefined where there is nothing */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    return unlessAbsent(error);
  }
}

const infoOf = (key: string, stats: Stats): ObjectInfo => ({ key, sizeBytes: stats.size, modifiedAt: Math.floor(stats.mtimeMs) });

function unlessAbsent(error: unknown): undefined {
  const code = codeOf(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}
