/**
 * Short files at once, long ones in a thread (docs/decisions/0075): the kernel answers for a short one from memory, and a turn of the thread pool
 * would cost twenty times that.
 */
import { copyFileSync, type PathLike, writeFile, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** So much is read and written without a thread: sockets deliver 64 KiB at a time, and most files are no larger. */
export const SHORT_BYTES = 64 * 1024;

export const isShort = (bytes: number): boolean => bytes <= SHORT_BYTES;

const writeInThread: (file: number, bytes: Uint8Array) => Promise<void> = promisify(writeFile);

/** Writes all bytes from where the file's position is. @param file its descriptor */
export function writeContent(file: number, bytes: Uint8Array): void | Promise<void> {
  if (!isShort(bytes.length)) return writeInThread(file, bytes);
  writeFileSync(file, bytes);
}

/** @param mode flags of `COPYFILE_…` */
export function copyContent(from: PathLike, to: PathLike, sizeBytes: number, mode = 0): void | Promise<void> {
  if (!isShort(sizeBytes)) return copyFile(from, to, mode);
  copyFileSync(from, to, mode);
}
