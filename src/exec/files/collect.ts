/** Reads results from a folder that a hostile program may have arranged: follows no link, and opens only plain files. */
import { constants } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';
import { partsBelow } from '../../paths.ts';

export interface Collected {
  /** The file's own name, without folders. */
  readonly name: string;
  readonly handle: FileHandle;
  readonly sizeBytes: number;
}

/** More files than any conversion makes pages or sheets. */
const MAX_FILES = 2_500;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Something that an honest converter does not leave behind. */
export class Suspicious extends Error {
  override readonly name = 'Suspicious';
}

/** Lists `folder`, which lies below `base`, in no order. @param base absolute path of a folder that only we can replace */
export async function listFolder(base: string, folder: string): Promise<string[]> {
  const directory = await walk(base, folder);
  try {
    const names: string[] = [];
    // Reading a million names at once would block the event loop.
    for await (const { name } of await opendir(`/proc/self/fd/${directory.fd}`))
      if (names.push(name) > MAX_FILES) throw new Suspicious(`more than ${MAX_FILES} files in the result`);
    return names;
  } finally {
    await directory.close();
  }
}

/** Opens one plain file for reading. @throws Suspicious for links, folders, pipes, devices and files with a second hard link */
export async function openFile(base: string, folder: string, name: string): Promise<Collected> {
  const directory = await walk(base, folder);
  try {
    return await openIn(directory, name);
  } finally {
    await directory.close();
  }
}

async function openIn(directory: FileHandle, name: string): Promise<Collected> {
  const handle = await open(`/proc/self/fd/${directory.fd}/${name}`, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: unknown) => {
    throw new Suspicious('a result could not be opened as a plain file', { cause });
  });
  const found = await handle.stat();
  if (!found.isFile() || found.nlink !== 1) {
    await handle.close();
    throw new Suspicious('a result is not a plain file');
  }
  return { name, handle, sizeBytes: found.size };
}

/** Opens `folder` step by step from `base`, holding each folder open, so that none can be replaced by a link meanwhile. */
async function walk(base: string, folder: string): Promise<FileHandle> {
  const parts = partsBelow(base, folder);
  if (parts === undefined) throw new Error('the folder does not lie below its base');
  let at = await open(base, O_RDONLY | O_DIRECTORY);
  for (const part of parts) {
    const next = await open(`/proc/self/fd/${at.fd}/${part}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((cause: unknown) => cause);
    await at.close();
    if (next instanceof Error) throw new Suspicious('a folder of the result was replaced', { cause: next });
    at = next as FileHandle;
  }
  return at;
}
