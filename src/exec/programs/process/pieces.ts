/** A result that is written piece by piece. */
import { closeSync, openSync, writeFileSync } from 'node:fs';

/** @param path of a file that is not there yet */
export function writePieces(path: string, pieces: Iterable<string | Buffer>): void {
  const file = openSync(path, 'wx');
  // One call may write less than it is given: this one goes on.
  for (const piece of pieces) writeFileSync(file, piece);
  closeSync(file);
}
