/** Counts the frames of a source file, reading it window by window so that it is never in memory as a whole. */
import { type FileHandle, open } from 'node:fs/promises';
import { boundFrames, type Pieces } from '../catalog/planning/frames.ts';

/** Read at a time, bytes. */
const WINDOW = 64 * 1024;

/** @throws Failure `input_limit` */
export async function refuseManyFrames(format: string, path: string): Promise<void> {
  await using file = await open(path);
  await boundFrames(format, await piecesOf(file));
}

async function piecesOf(file: FileHandle): Promise<Pieces> {
  const { size } = await file.stat();
  const window = Buffer.alloc(WINDOW);
  let from = 0;
  let filled = 0;
  return {
    size,
    async read(at, length) {
      if (at < from || at + length > from + filled) {
        from = Math.min(at, size);
        filled = (await file.read(window, 0, WINDOW, from)).bytesRead;
      }
      return window.subarray(at - from, Math.min(at - from + length, filled));
    },
  };
}
