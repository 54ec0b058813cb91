/** Writes a stream to a file, which appears whole or not at all, and computes its size and hash. */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StoreFull, TooLarge, type Written } from './store.ts';
import { temporaryFor } from './temporary.ts';

/** Sockets deliver 64 KiB at a time; most files are no larger. */
const FIRST_BYTES = 64 * 1024;
/** For longer files: each write costs one turn of the thread pool, whatever its size. */
const WRITE_BYTES = 512 * 1024;
/** A delete may remove the folder, while it is still empty, before the file is created in it; hardly ever many times in a row. */
const TRIES = 20;

/**
 * Nothing is synced: after a power failure, files of the last half minute may be missing, short or empty.
 * @throws TooLarge · StoreFull · the stream's own error, such as an AbortError. No file is left then, and `source` is destroyed if reading began.
 */
export async function writeWhole(path: string, source: Readable, maxBytes: number, signal?: AbortSignal): Promise<Written> {
  // The stream may fail before it is read, and an error without a listener would end the process.
  source.on('error', () => {});
  const temporary = temporaryFor(path);
  try {
    const file = await create(temporary);
    const written = await pour(source, file, maxBytes, signal).finally(() => file.close());
    await rename(temporary, path);
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw translate(error);
  }
}

/** Copies the stream to its end. @throws TooLarge at the first byte beyond `maxBytes` */
export async function pour(source: Readable, file: FileHandle, maxBytes: number, signal?: AbortSignal): Promise<Written> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  // One block is reused: during large uploads, a new one for each write would keep the garbage collector busy.
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

/** Creates the folder too, and again if a delete removed it meanwhile. */
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

function translate(error: unknown): unknown {
  const code = codeOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT' ? new StoreFull('no space is left for objects', { cause: error }) : error;
}

export const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
