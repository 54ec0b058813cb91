/** A worker's transfers by granted URL: downloads an input to a file, and uploads an output from one. */
import { createHash } from 'node:crypto';
import { closeSync, constants, createReadStream, fstatSync, lstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { copyContent, isShort } from '../streams/short.ts';
import { fetchTo, sendFrom } from './http.ts';
import { Missing, TooLarge, type Written } from './store.ts';
import { codeOf, moveWhole, writeBytes, writeWhole } from './write.ts';

/** Each read costs one turn of the thread pool. */
const READ_BYTES = 512 * 1024;

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
  return isFile(url) ? uploadFile(path, fileURLToPath(url), maxBytes, signal) : uploadTo(path, url, maxBytes, signal);
}

/**
 * The same for a file of ours that is not needed afterwards: a store in a folder gets the file itself where both are in one file system.
 * @param sha256 of its bytes, where that is known
 */
export async function handOver(path: string, url: string, maxBytes: number, signal: AbortSignal, sha256?: string): Promise<Written> {
  signal.throwIfAborted();
  if (!isFile(url)) return uploadTo(path, url, maxBytes, signal);
  const sizeBytes = sizeOf(lstatSync(path), maxBytes);
  const digest = sha256 ?? (await digestOf(path, signal));
  return moveWhole(path, fileURLToPath(url)) ? { sizeBytes, sha256: digest } : uploadFile(path, fileURLToPath(url), maxBytes, signal);
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const block of createReadStream(path, { highWaterMark: READ_BYTES, signal })) hash.update(block as Buffer);
  return hash.digest('hex');
}

/** NONBLOCK: opening a pipe would wait for its other end. */
const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function sizeOf(stats: Stats, maxBytes: number): number {
  if (!stats.isFile()) throw new TypeError('only a plain file can be uploaded');
  if (stats.size > maxBytes) throw new TooLarge(stats.size);
  return stats.size;
}

async function uploadTo(path: string, url: string, maxBytes: number, signal: AbortSignal): Promise<Written> {
  await using file = await open(path, PLAIN);
  return await sendFrom(file, sizeOf(await file.stat(), maxBytes), url, signal);
}

async function uploadFile(from: string, to: string, maxBytes: number, signal: AbortSignal): Promise<Written> {
  const file = openSync(from, PLAIN);
  try {
    // It may have grown since: what is read is what counts.
    const bytes = isShort(sizeOf(fstatSync(file), maxBytes)) ? readFileSync(file) : undefined;
    if (bytes !== undefined && isShort(bytes.length)) return writeBytes(to, bytes);
    return await writeWhole(to, createReadStream('', { fd: file, autoClose: false, start: 0 }), maxBytes, signal);
  } finally {
    closeSync(file);
  }
}

const isFile = (url: string): boolean => new URL(url).protocol === 'file:';

async function downloadFile(from: string, to: string, maxBytes: number, signal: AbortSignal): Promise<void> {
  const { size } = granted(from);
  if (size > maxBytes) throw new TooLarge(size);
  // File systems with reflinks (Btrfs, XFS) share the blocks until one side is written; elsewhere the kernel copies.
  await copyContent(from, to, size, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  signal.throwIfAborted();
}

function granted(path: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    throw codeOf(cause) === 'ENOENT' ? new Missing('the granted object does not exist', { cause }) : cause;
  }
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
