/** A worker's transfers by granted URL: downloads an input to a file, and uploads an output from one. */
import { constants, copyFile, type FileHandle, open, rm, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { fetchTo, sendFrom } from './http.ts';
import { Missing, TooLarge, type Written } from './store.ts';
import { codeOf, writeWhole } from './write.ts';

/**
 * Always makes a copy: a confined program that shared an inode with the store could change the stored object.
 * @param path must not exist yet
 * @throws Missing · TooLarge · the transfer's own error; no file is left then
 */
export async function download(url: string, path: string, maxBytes: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (isFile(url)) return downloadFile(fileURLToPath(url), path, maxBytes, signal);
  await toNewFile(path, (file) => fetchTo(url, file, maxBytes, signal));
}

/**
 * @param path of a plain file; links and pipes are refused, since a converter may have created it
 * @throws TooLarge · StoreFull · the transfer's own error; nothing is stored then
 */
export async function upload(path: string, url: string, maxBytes: number, signal: AbortSignal): Promise<Written> {
  signal.throwIfAborted();
  // NONBLOCK: opening a pipe would wait for its other end.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new TypeError('only a plain file can be uploaded');
    if (stats.size > maxBytes) throw new TooLarge(stats.size);
    if (!isFile(url)) return await sendFrom(file, stats.size, url, signal);
    return await writeWhole(fileURLToPath(url), file.createReadStream({ autoClose: false }), maxBytes, signal);
  } finally {
    await file.close();
  }
}

const isFile = (url: string): boolean => new URL(url).protocol === 'file:';

async function downloadFile(from: string, to: string, maxBytes: number, signal: AbortSignal): Promise<void> {
  const stats = await stat(from).catch((cause: unknown) => {
    throw codeOf(cause) === 'ENOENT' ? new Missing('the granted object does not exist', { cause }) : cause;
  });
  if (stats.size > maxBytes) throw new TooLarge(stats.size);
  // File systems with reflinks (Btrfs, XFS) share the blocks until one side is written; elsewhere the kernel copies.
  await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  signal.throwIfAborted();
}

async function toNewFile(path: string, fill: (file: FileHandle) => Promise<unknown>): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await fill(file);
    await file.close();
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
}
