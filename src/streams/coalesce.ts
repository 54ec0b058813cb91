/** Joins the small chunks of a stream, so that a sender of single bytes does not make us pay the cost of a chunk for each byte. */
import { Transform, type TransformCallback } from 'node:stream';

/** Smaller chunks are joined, bytes. */
export const MIN_PIECE_BYTES = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** Passes the same bytes on in chunks of at least `MIN_PIECE_BYTES`, except the last. Large chunks are not copied. */
export class Coalesce extends Transform {
  #block: Buffer | undefined;
  #filled = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (chunk.length >= MIN_PIECE_BYTES && this.#filled === 0) {
      done(null, chunk);
      return;
    }
    let rest = chunk;
    while (rest.length > 0) {
      this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
      const copied = rest.copy(this.#block, this.#filled);
      this.#filled += copied;
      rest = rest.subarray(copied);
      if (this.#filled >= MIN_PIECE_BYTES) this.#pushBlock();
    }
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#pushBlock();
    done();
  }

  /** Keeps the unused rest of the block for the next chunk. */
  #pushBlock(): void {
    if (this.#block === undefined || this.#filled === 0) return;
    this.push(this.#block.subarray(0, this.#filled));
    const left = this.#block.subarray(this.#filled);
    this.#block = left.length >= MIN_PIECE_BYTES ? left : undefined;
    this.#filled = 0;
  }
}
