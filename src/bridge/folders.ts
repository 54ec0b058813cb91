/** The folders that a bridge may read and write in. A path counts as what it leads to, so that no symbolic link leads out. */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWithin, partsBelow } from '../paths.ts';

/** What the caller can correct; the message says how. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

export interface Folders {
  /** As the command line names them, absolute. */
  readonly names: readonly string[];
  /** The path of a local file that the text names; undefined where it is something else, such as a URL or base64. @throws PathRefused */
  find(text: string): Promise<string | undefined>;
  /** Opens a regular file for reading. @param path absolute @throws PathRefused */
  read(path: string): Promise<OpenFile>;
  /** Creates a new file; an existing one is never changed. @param saveTo a path, or a folder, which gets a file of this name @throws PathRefused */
  create(saveTo: string, name: string): Promise<OpenFile>;
}

export interface OpenFile {
  readonly handle: FileHandle;
  /** What the path leads to. */
  readonly path: string;
  readonly sizeBytes: number;
}

/** Longer than any path (Linux, PATH_MAX), characters. */
const LONGEST_PATH = 4_096;
/** Names that are tried where one is taken. */
const MOST_NUMBERED = 100;

/** @param allowed of the command line @throws PathRefused where one is no folder */
export async function openFolders(allowed: readonly string[]): Promise<Folders> {
  const names = allowed.map((folder) => resolve(fromHome(folder)));
  const roots = await Promise.all(names.map(folderAt));
  const isInside = (path: string) => roots.some((root) => isWithin(root, path));
  /** Below each folder that holds it. */
  const isHidden = (path: string) =>
    roots.map((root) => partsBelow(root, path)).every((parts) => parts === undefined || parts.some((name) => name.startsWith('.')));
  const outside = (path: string) =>
    new PathRefused(
      names.length === 0
        ? `The path ${quoted(path)} may not be used: this bridge was started without a folder. Start it with --allow FOLDER.`
        : `The path ${quoted(path)} is outside the folders that this bridge may use: ${names.join(', ')}. Start it with --allow FOLDER to add one.`,
    );
  /** @throws PathRefused */
  const inside = async (path: string): Promise<string> => {
    const real = await realpath(path).catch(() => undefined);
    // What does not exist outside is not told apart from what does.
    const folder = real ?? (await realpath(dirname(path)).catch(() => undefined));
    if (folder === undefined || !isInside(folder)) throw outside(path);
    // Keys and settings lie in these, and what a model asks for may be a text's idea.
    if (isHidden(real ?? join(folder, basename(path))))
      throw new PathRefused(`The path ${quoted(path)} is hidden: names that begin with a dot may not be used.`);
    if (real === undefined) throw new PathRefused(`There is no file ${quoted(path)}.`);
    return real;
  };

  return {
    names,
    async find(text) {
      if (text.length > LONGEST_PATH || text === '' || /[\n\r\0]/.test(text)) return undefined;
      const path = pathIn(text);
      if (path === undefined) return undefined;
      if (isAbsolute(path)) return (await looksLocal(path)) ? path : undefined;
      for (const name of names) if (await exists(join(name, path))) return join(name, path);
      return undefined;
    },
    async read(path) {
      const real = await inside(path);
      // Not blocking: a named pipe would wait for its writer.
      const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => {
        throw new PathRefused(`The file ${quoted(path)} cannot be read.`);
      });
      try {
        const [opened, there] = [await handle.stat(), await lstat(await inside(path))];
        // A folder on the way was replaced in between.
        if (opened.ino !== there.ino || opened.dev !== there.dev) throw outside(path);
        if (!opened.isFile()) throw new PathRefused(`The path ${quoted(path)} is not a regular file.`);
        return { handle, path: real, sizeBytes: opened.size };
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    async create(saveTo, name) {
      const path = pathIn(saveTo) ?? saveTo;
      const absolute = isAbsolute(path) ? path : join(names[0] ?? '/', path);
      const isFolder = /[\\/]$/.test(path) || (await stat(absolute).catch(() => undefined))?.isDirectory() === true;
      const folder = await inside(isFolder ? absolute : dirname(absolute));
      // A server's name must not hide the file.
      const file = isFolder ? basename(name).replace(/^\.+/, '') || 'file' : basename(absolute);
      if (isHidden(join(folder, file)))
        throw new PathRefused(`The path ${quoted(absolute)} is hidden: names that begin with a dot may not be used.`);
      for (let number = 1; number <= (isFolder ? MOST_NUMBERED : 1); number++) {
        const target = join(folder, number === 1 ? file : numbered(file, number));
        // Exclusive: neither an existing file nor a link is followed.
        const handle = await open(target, 'wx').catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return undefined;
          throw new PathRefused(`The file ${quoted(target)} cannot be written.`);
        });
        if (handle !== undefined) return { handle, path: target, sizeBytes: 0 };
      }
      throw new PathRefused(`The file ${quoted(absolute)} exists already: choose another name.`);
    },
  };
}

async function folderAt(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new PathRefused(`--allow ${path}: there is no such folder`);
  return realpath(path);
}

const quoted = (path: string): string => JSON.stringify(path.slice(0, 300));
const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
const fromHome = (path: string): string => (/^~(?=$|[\\/])/.test(path) ? join(homedir(), path.slice(1)) : path);

/** Undefined for a URL of another scheme. */
function pathIn(text: string): string | undefined {
  if (/^file:/i.test(text))
    try {
      return fileURLToPath(text);
    } catch {
      throw new PathRefused(`The URL ${quoted(text)} does not name a local file.`);
    }
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? undefined : fromHome(text);
}

/** Base64 may begin with a slash, but names no folder that exists. */
const looksLocal = async (path: string): Promise<boolean> => /\.[A-Za-z0-9]{1,10}$/.test(path) || (await exists(dirname(path)));

function numbered(name: string, number: number): string {
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? `${name}-${number}` : `${name.slice(0, dot)}-${number}${name.slice(dot)}`;
}
