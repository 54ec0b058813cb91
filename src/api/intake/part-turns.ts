/** Keeps one turn of the event loop from opening more than a few parts of a form: six bytes from a client begin a part, for which this process opens a stream. */
import { Transform, type TransformCallback } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

/** Most forms have fewer in all. */
const PARTS_IN_A_TURN = 64;

/** What every delimiter begins with, whatever the boundary is (RFC 2046 §5.1.1). */
const DELIMITER = Buffer.from('\r\n--');

/** Passes the same bytes on; a chunk with many delimiters in several pieces, each in a separate turn. */
export class PartTurns extends Transform {
  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const end = endOfPiece(chunk);
    if (end === chunk.length) done(null, chunk);
    else this.#passInPieces(chunk, end).then(() => done(), done);
  }

  async #passInPieces(chunk: Buffer, first: number): Promise<void> {
    let rest = chunk;
    for (let end = first; rest.length > 0 && !this.destroyed; end = endOfPiece(rest)) {
      this.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      await setImmediate();
    }
  }
}

/** At most so many delimiters are before it. */
function endOfPiece(bytes: Buffer): number {
  let at = 0;
  for (let parts = 0; parts < PARTS_IN_A_TURN; parts++) {
    const found = bytes.indexOf(DELIMITER, at);
    if (found < 0) return bytes.length;
    at = found + DELIMITER.length;
  }
  return at;
}
