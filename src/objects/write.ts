/** Writes a stream to a file that appears whole or not at all, counting and hashing on the way. */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StoreFull, TooLarge, type Written } from './store.ts';
import { temporaryFor } from './temporary.ts';

/** Sockets bring 64 KiB at a time: all that most files have. */
const FIRST_BYTES = 64 * 1024;
/** Of a longer file: a write costs a turn of the thread pool whatever its size. */
const WRITE_BYTES = 512 * 1024;
/** A folder may be removed as empty between its creation and that of the file, by a delete of its last object; not often in a row. */
const TRIES = 20;

/**
 * Nothing is synced: after a power cut a file of the last half minute may be missing, short or empty.
 * @throws TooLarge · StoreFull · the stream's own error, an AbortError among them. No file is then left; a `source` that was begun is destroyed.
 */
export async function writeWhole(path: string, source: Readable, maxBytes: number, signal?: AbortSignal): Promise<Written> {
  // The stream may fail before it is read: unheard, that would end the process.
  source.on('error', () => {});
  const temporary = temporaryFor(path);
  try {
    const file = await create(temporary);
    const written = await pour(source, file, maxBytes, signal).finally(() => file.close());
    await rename(temporary, path);
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw inOurWords(error);
  }
}

/** Copies to the end of the stream. @throws TooLarge with the first byte too many */
export async function pour(source: Readable, file: FileHandle, maxBytes: number, signal?: AbortSignal): Promise<Written> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  // One block again and again: what is allocated for each write is what the collector is busy with during large uploads.
  let block = Buffer.allocUnsafeSlow(FIRST_BYTES);
  let held = 0;
  const flush = async () => {
    const bytes = block.subarray(0, held);
    hash.update(bytes);
    await file.writeFile(bytes);
    held = 0;
    if (block.length < WRITE_BYTES) block = Buffer.allocUnsafeSlow(WRITE_BYTES);
  };
  const write = async (chunks: AsyncIterable<Uint8Array | string>) => {
    for await (const chunk of chunks) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      sizeBytes += bytes.byteLength;
      if (sizeBytes > maxBytes) throw new TooLarge(sizeBytes);
      for (let from = 0; from < bytes.byteLength; ) {
        const count = Math.min(block.length - held, bytes.byteLength - from);
        block.set(bytes.subarray(from, from + count), held);
        held += count;
        from += count;
        if (held === block.length) await flush();
      }
    }
    if (held > 0) await flush();
  };
  await (signal === undefined ? pipeline(source, write) : pipeline(source, write, { signal }));
  return { sizeBytes, sha256: hash.digest('hex') };
}

/** Makes the folder too, again if somebody removed it meanwhile. */
async function create(path: string): Promise<FileHandle> {
  for (let tried = 1; ; tried++) {
    try {
      await mkdir(dirname(path), { recursive: true });
      return await open(path, 'wx');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || tried === TRIES) throw error;
    }
  }
}

function inOurWords(error: unknown): unknown {
  const code = codeOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT' ? new StoreFull('no room is left where the objects are kept', { cause: error }) : error;
}

export const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
