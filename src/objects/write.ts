/**
 * Writes a stream to a file, which appears whole or not at all, and computes its size and hash. What takes the kernel microseconds is synchronous:
 * a turn of the thread pool would cost twenty times that.
 */
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SHORT_BYTES, writeContent } from '../streams/short.ts';
import { type PutOptions, StoreFull, TooLarge, type Written } from './store.ts';
import { temporaryFor } from './temporary.ts';

/** For longer files: each write costs one turn of the thread pool, whatever its size. */
const WRITE_BYTES = 512 * 1024;
/** A delete may remove the folder, while it is still empty, before the file is created in it; hardly ever many times in a row. */
const TRIES = 20;

/**
 * Nothing is synced: after a power failure, files of the last half minute may be missing, short or empty.
 * @throws TooLarge · StoreFull · the stream's own error, such as an AbortError. No file is left then, and `source` is destroyed if reading began.
 */
export async function writeWhole(
  path: string,
  source: Readable,
  maxBytes: number,
  signal?: AbortSignal,
  options?: PutOptions,
): Promise<Written> {
  // The stream may fail before it is read, and an error without a listener would end the process.
  source.on('error', () => {});
  const temporary = temporaryFor(path);
  try {
    const file = create(temporary);
    const written = await pour(source, (bytes) => writeContent(file, bytes), maxBytes, signal, options).finally(() => closeSync(file));
    renameSync(temporary, path);
    return written;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw translate(error);
  }
}

/** The same for the bytes of a short file, which are there. @throws StoreFull; no file is left then */
export function writeBytes(path: string, bytes: Uint8Array): Written {
  const temporary = temporaryFor(path);
  try {
    const file = create(temporary);
    try {
      writeFileSync(file, bytes);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    return { sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    rmSync(temporary, { force: true });
    throw translate(error);
  }
}

/** Gives a file its place. @returns false where that is in another file system @throws StoreFull */
export function moveWhole(from: string, to: string): boolean {
  for (let tried = 1; ; tried++) {
    try {
      renameSync(from, to);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EXDEV') return false;
      if (codeOf(error) !== 'ENOENT' || tried === TRIES) throw translate(error);
      mkdirSync(dirname(to), { recursive: true });
    }
  }
}

/** Passes the stream on to its end. @param write the block that it gets is used again @throws TooLarge at the first byte beyond `maxBytes` */
export async function pour(
  source: Readable,
  write: (block: Uint8Array) => void | Promise<void>,
  maxBytes: number,
  signal?: AbortSignal,
  { digest = true }: PutOptions = {},
): Promise<Written> {
  const hash = digest ? createHash('sha256') : undefined;
  let sizeBytes = 0;
  // One block is reused: during large uploads, a new one for each write would keep the garbage collector busy.
  let block = Buffer.allocUnsafeSlow(SHORT_BYTES);
  let held = 0;
  const flush = async () => {
    const bytes = block.subarray(0, held);
    hash?.update(bytes);
    await write(bytes);
    held = 0;
    if (block.length < WRITE_BYTES) block = Buffer.allocUnsafeSlow(WRITE_BYTES);
  };
  const readAll = async (chunks: AsyncIterable<Uint8Array | string>) => {
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
  await (signal === undefined ? pipeline(source, readAll) : pipeline(source, readAll, { signal }));
  return { sizeBytes, sha256: hash?.digest('hex') ?? '' };
}

/** Creates the folder too, and again if a delete removed it meanwhile. @returns its descriptor */
function create(path: string): number {
  for (let tried = 1; ; tried++) {
    try {
      mkdirSync(dirname(path), { recursive: true });
      return openSync(path, 'wx');
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
