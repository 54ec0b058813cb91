/** Objects as files below one folder: a key is the path. */
import type { Stats } from 'node:fs';
import { constants, type FileHandle, lstat, mkdir, open, opendir, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isWithin } from '../paths.ts';
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
    for (let at = folder; at !== top && isWithin(top, at); at = dirname(at)) {
      const removed = await rmdir(at).then(
        () => true,
        () => false,
      );
      if (!removed) return;
    }
  }

  return {
    async put(key, source, maxBytes, signal) {
      try {
        return await writeWhole(pathOf(key), source, maxBytes, signal);
      } catch (error) {
        source.destroy();
        // The folder may have been created for this put alone; a refused key has none.
        if (!(error instanceof RangeError)) await removeEmpty(dirname(pathOf(key)));
        throw error;
      }
    },

    async get(key, range) {
      const file = await openFile(pathOf(key), key);
      return file.createReadStream(range === undefined ? {} : { start: range.start, end: range.end });
    },

    async head(key) {
      const stats = await statsOf(pathOf(key));
      return stats?.isFile() ? infoOf(key, stats) : undefined;
    },

    async delete(key) {
      const path = pathOf(key);
      await rm(path, { force: true }).catch(unlessAbsent);
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
    const stats = await statsOf(join(top, key));
    if (!stats?.isFile()) continue;
    if (!isTemporary(entry.name)) yield infoOf(key, stats);
    else if (isAbandoned(entry.name, stats.mtimeMs)) await rm(join(top, key), { force: true });
  }
}

async function openFile(path: string, key: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(unlessAbsent);
  if (file === undefined) throw new Missing(`no object ${key}`);
  try {
    if ((await file.stat()).isFile()) return file;
    throw new Missing(`no object ${key}`);
  } catch (error) {
    await file.close();
    throw error;
  }
}

const statsOf = (path: string): Promise<Stats | undefined> => lstat(path).catch(unlessAbsent);

const infoOf = (key: string, stats: Stats): ObjectInfo => ({ key, sizeBytes: stats.size, modifiedAt: Math.floor(stats.mtimeMs) });

function unlessAbsent(error: unknown): undefined {
  const code = codeOf(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
}
