/**
 * Reads results from a folder that a hostile program may have arranged: follows no link, and opens only plain files.
 * Synchronous: each call takes microseconds, and a turn of the thread pool would cost twenty times that.
 */
import { closeSync, constants, fstatSync, opendirSync, openSync } from 'node:fs';
import { partsBelow } from '../../paths.ts';

/** Closed at the end of its scope. */
export interface Collected extends Disposable {
  /** The file's own name, without folders. */
  readonly name: string;
  /** File descriptor. */
  readonly fd: number;
  readonly sizeBytes: number;
}

/** More files than any conversion makes pages or sheets. */
const MAX_FILES = 2_500;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Something that an honest converter does not leave behind. */
export class Suspicious extends Error {
  override readonly name = 'Suspicious';
}

/** Lists `folder`, which lies below `base`, in no order. @param base absolute path of a folder that only we can replace @throws Suspicious */
export function listFolder(base: string, folder: string): string[] {
  using opened = walk(base, folder);
  const directory = opendirSync(inside(opened));
  try {
    const names: string[] = [];
    // One at a time: a million names would block the event loop.
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync())
      if (names.push(entry.name) > MAX_FILES) throw new Suspicious(`more than ${MAX_FILES} files in the result`);
    return names;
  } finally {
    directory.closeSync();
  }
}

/** Opens one plain file for reading. @throws Suspicious for links, folders, pipes, devices and files with a second hard link */
export function openFile(base: string, folder: string, name: string): Collected {
  using opened = walk(base, folder);
  const file = closing(open(inside(opened, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 'a result could not be opened as a plain file'));
  const found = fstatSync(file.fd);
  if (found.isFile() && found.nlink === 1) return { ...file, name, sizeBytes: found.size };
  file[Symbol.dispose]();
  throw new Suspicious('a result is not a plain file');
}

interface Descriptor extends Disposable {
  readonly fd: number;
}

const closing = (fd: number): Descriptor => ({ fd, [Symbol.dispose]: () => closeSync(fd) });
const inside = ({ fd }: Descriptor, name?: string): string => (name === undefined ? `/proc/self/fd/${fd}` : `/proc/self/fd/${fd}/${name}`);

/** Opens `folder` step by step from `base`, holding each folder open, so that none can be replaced by a link meanwhile. */
function walk(base: string, folder: string): Descriptor {
  const parts = partsBelow(base, folder);
  if (parts === undefined) throw new Error('the folder does not lie below its base');
  let at = closing(openSync(base, O_RDONLY | O_DIRECTORY));
  for (const part of parts) {
    using above = at;
    at = closing(open(inside(above, part), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 'a folder of the result was replaced'));
  }
  return at;
}

/** @throws Suspicious, with these words */
function open(path: string, flags: number, fault: string): number {
  try {
    return openSync(path, flags);
  } catch (cause) {
    throw new Suspicious(fault, { cause });
  }
}
