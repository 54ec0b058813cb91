/** Joins the small pieces of a stream, so that what a piece costs further on is paid for each block and not for each byte that a sender chose to send alone. */
import { Transform, type TransformCallback } from 'node:stream';

/** Smaller pieces are joined, bytes. */
export const MIN_PIECE_BYTES = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** Bytes in, the same bytes out: in pieces of at least `MIN_PIECE_BYTES`, but for the last. Large pieces pass without being copied. */
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

  /** The rest of a block is filled before a new one is allocated. */
  #pushBlock(): void {
    if (this.#block === undefined || this.#filled === 0) return;
    this.push(this.#block.subarray(0, this.#filled));
    const left = this.#block.subarray(this.#filled);
    this.#block = left.length >= MIN_PIECE_BYTES ? left : undefined;
    this.#filled = 0;
  }
}
