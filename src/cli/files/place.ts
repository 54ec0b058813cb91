/** Writes results: each appears under its name as a whole or not at all, and nothing is overwritten without --force. */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, lstat, mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Delivered } from './converter.ts';
import { osPath } from './meaning/bytes.ts';

/** What is wrong with a file of the user's. The message names no path: the printed line does. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem';
  readonly code: 'NO_SUCH_FILE' | 'NOT_A_FILE' | 'CANNOT_READ' | 'EXISTS' | 'CANNOT_WRITE';
  constructor(code: FileProblem['code'], says: string, cause?: unknown) {
    super(says, { cause });
    this.code = code;
  }
}

/** `file`: the name is the user's. `folder`: the name follows from the result's. */
export type Destination =
  | { readonly to: 'stdout'; readonly spool: string }
  | { readonly to: 'file'; readonly path: string }
  | { readonly to: 'folder'; readonly folder: string; readonly nameOf: (filename: string) => string };

export interface Places {
  /** @returns the path, or `-` @throws FileProblem */
  put(destination: Destination, result: Delivered): Promise<string>;
  /** Removes what is half written. */
  clear(): Promise<void>;
}

/** @param stdout where a result goes that has no file */
export function openPlaces({ force }: { readonly force: boolean }, stdout: NodeJS.WritableStream): Places {
  const unfinished = new Set<string>();

  const write = async (path: string, { fill }: Delivered): Promise<void> => {
    const half = join(dirname(path), `.filemill-${randomBytes(8).toString('hex')}`);
    unfinished.add(half);
    try {
      await fill(osPath(half));
      if (force) await rename(osPath(half), osPath(path));
      else await appear(half, path);
    } catch (error) {
      throw writeProblem(error);
    } finally {
      await rm(osPath(half), { force: true });
      unfinished.delete(half);
    }
  };

  return {
    async put(destination, result) {
      if (destination.to === 'stdout') {
        const path = join(destination.spool, randomBytes(8).toString('hex'));
        await result.fill(path);
        await pipeline(createReadStream(path), stdout, { end: false }).catch((error: unknown) => Promise.reject(writeProblem(error)));
        await rm(path);
        return '-';
      }
      const path = outputPath(destination, result.filename);
      await mkdir(osPath(dirname(path)), { recursive: true }).catch((error: unknown) => Promise.reject(writeProblem(error)));
      await write(path, result);
      return path;
    },
    async clear() {
      await Promise.all([...unfinished].map((path) => rm(osPath(path), { force: true })));
    },
  };
}

/** Several pages are in a ZIP, whatever name was requested: no program would open a ZIP that is called page.png. */
export function outputPath(destination: Exclude<Destination, { to: 'stdout' }>, filename: string): string {
  if (destination.to === 'folder') return join(destination.folder, destination.nameOf(filename));
  const { path } = destination;
  if (extname(filename) !== '.zip' || extname(path).toLowerCase() === '.zip') return path;
  return join(dirname(path), `${basename(path, extname(path))}.zip`);
}

/** A link fails where the name is taken, in one step; file systems without links have a moment between the look and the move. */
async function appear(from: string, path: string): Promise<void> {
  try {
    await link(osPath(from), osPath(path));
  } catch (error) {
    if (!/^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS|EMLINK)$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
    if ((await lstat(osPath(path)).catch(() => undefined)) !== undefined) throw exists();
    await rename(osPath(from), osPath(path));
  }
}

export const exists = (): FileProblem => new FileProblem('EXISTS', 'The output file exists already: --force overwrites it.');

function writeProblem(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST' || code === 'EISDIR') return exists();
  if (code === undefined || !/^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|ENOSPC|EDQUOT|EFBIG|ENAMETOOLONG|EINVAL|EIO)$/.test(code)) return error;
  return new FileProblem('CANNOT_WRITE', `The output file cannot be written (${code}).`, error);
}

/** Before work is begun that could not be written in the end. @throws FileProblem */
export async function checkFree(destination: Destination, filename: string, force: boolean, sources: readonly string[]): Promise<void> {
  if (destination.to === 'stdout') return;
  const found = await stat(osPath(outputPath(destination, filename))).catch(() => undefined);
  if (found === undefined) return;
  if (!force || found.isDirectory()) throw exists();
  for (const source of sources) {
    const { dev, ino } = await stat(osPath(source));
    if (dev === found.dev && ino === found.ino)
      throw new FileProblem('EXISTS', 'The output file is the source itself: choose another name, or another folder with --out.');
  }
}

/** @throws FileProblem unless it is a file that can be opened */
export async function checkSource(path: string): Promise<number> {
  const found = await stat(osPath(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw new FileProblem('NO_SUCH_FILE', 'There is no such file.', error);
    throw new FileProblem('CANNOT_READ', `The file cannot be read (${error.code}).`, error);
  });
  if (!found.isFile())
    throw new FileProblem(
      'NOT_A_FILE',
      found.isDirectory() ? 'This is a folder, not a file: --recursive takes the files in it.' : 'This is not a plain file.',
    );
  return found.size;
}

/** Where the result, or the ZIP in its place, is already; undefined: nowhere. */
export async function existing(destination: Destination, filename: string, sources: readonly string[]): Promise<string | undefined> {
  if (destination.to === 'stdout') return undefined;
  for (const name of [filename, 'x.zip']) {
    const path = outputPath(destination, name);
    const found = await stat(osPath(path)).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    const own = await Promise.all(sources.map((source) => stat(osPath(source)).catch(() => undefined)));
    if (!own.some((source) => source?.dev === found.dev && source.ino === found.ino)) return path;
  }
  return undefined;
}
