/** Removes a file in the time that its length asks for. */
import { type PathLike, unlinkSync } from 'node:fs';
import { unlink } from 'node:fs/promises';

/** A file system takes milliseconds to free the blocks of a longer file: a thread waits for it, bytes. */
const SOON_FREED = 8 << 20;

/** A short file has gone when this returns: a turn of the thread pool would cost twenty times what the kernel takes. */
export function unlinkFile(path: PathLike, sizeBytes: number): void | Promise<void> {
  if (sizeBytes > SOON_FREED) return unlink(path);
  unlinkSync(path);
}
