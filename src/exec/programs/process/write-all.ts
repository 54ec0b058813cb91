/** Writes everything. One call of `write(2)` may write a part only, as on a disk that becomes full. */
import { writeSync } from 'node:fs';

/** @param file its descriptor @param at place in the file, bytes; where the last write ended, unless given @throws what the system says of a disk that is full */
export function writeAll(file: number, bytes: Uint8Array, at?: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, at === undefined ? null : at + done);
}
