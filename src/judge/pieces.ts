/** A file that is looked through, read window by window so that it is never in memory as a whole. For judging threads: it blocks. */
import { fstatSync, readSync } from 'node:fs';
import type { Pieces } from '../catalog/planning/pieces.ts';

/** Read at a time, bytes. */
const WINDOW = 64 * 1024;

/** @param fd of a regular file, open for reading while the pieces are used */
export function piecesOf(fd: number): Pieces {
  const { size } = fstatSync(fd);
  const window = Buffer.alloc(WINDOW);
  let from = 0;
  let filled = 0;
  const fill = (at: number): void => {
    from = Math.min(at, size);
    filled = readSync(fd, window, 0, WINDOW, from);
  };
  return {
    size,
    read(at, length) {
      if (at < from || at + length > from + filled) fill(at);
      return window.subarray(at - from, Math.min(at - from + length, filled));
    },
    byte(at) {
      if (at < from || at >= from + filled) {
        if (at >= size) return undefined;
        fill(at);
      }
      return window[at - from];
    },
  };
}
