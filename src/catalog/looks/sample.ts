/** The sample that sniffing works on: the beginning and the end of a file, never the whole. */

/** Enough for the local headers of an office document's first parts, and for text statistics. */
export const HEAD_BYTES = 256 * 1024;
/** Enough for the central directory of all but enormous ZIPs. */
export const TAIL_BYTES = 128 * 1024;

export interface Sample {
  /** The first `HEAD_BYTES`, or the whole file. */
  readonly head: Uint8Array;
  /** The last `TAIL_BYTES`, or the whole file; may overlap the head. */
  readonly tail: Uint8Array;
  /** Size of the whole file, bytes. */
  readonly size: number;
}

/**
 * The result of sniffing. `format`: a canonical id. `tie`: one of a group that only a name can distinguish; `otherwise` is the default.
 * `cut`: begins as this format, and ends before it is whole.
 * `refused`: recognised as something that is never opened (executables, playlists, scripts).
 */
export type Detected =
  | { readonly kind: 'format'; readonly format: string }
  | { readonly kind: 'tie'; readonly among: readonly string[]; readonly otherwise: string }
  | { readonly kind: 'cut'; readonly format: string }
  | { readonly kind: 'refused'; readonly what: string }
  | { readonly kind: 'unknown' };

/** Recognises the formats of one family; undefined if the sample is none of them. */
export type Sniffer = (sample: Sample) => Detected | undefined;

/** Initial size of the head's buffer, bytes: most files are no larger. */
const FIRST_BLOCK_BYTES = 16 * 1024;

/** Collects a sample from a stream. Copies the bytes, so that a small chunk does not retain a larger buffer. */
export class Sampler {
  #head: Buffer = Buffer.alloc(0);
  #headBytes = 0;
  /** The last bytes of a file that is longer than the head, as a ring. */
  #ring: Buffer | undefined;
  /** Position of the ring's oldest byte, where the next one is written. */
  #at = 0;
  #size = 0;

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    const first = chunk.subarray(0, HEAD_BYTES - this.#headBytes);
    if (first.length > 0) this.#addToHead(first);
    if (chunk.length > first.length) this.#addToTail(chunk.subarray(first.length));
  }

  sample(): Sample {
    const head = this.#head.subarray(0, this.#headBytes);
    const ring = this.#ring;
    const tail = ring === undefined ? head.subarray(-TAIL_BYTES) : Buffer.concat([ring.subarray(this.#at), ring.subarray(0, this.#at)]);
    return { head, tail, size: this.#size };
  }

  #addToHead(bytes: Buffer): void {
    const wanted = this.#headBytes + bytes.length;
    if (wanted > this.#head.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(HEAD_BYTES, Math.max(FIRST_BLOCK_BYTES, this.#head.length * 2, wanted)));
      this.#head.copy(larger, 0, 0, this.#headBytes);
      this.#head = larger;
    }
    bytes.copy(this.#head, this.#headBytes);
    this.#headBytes = wanted;
  }

  #addToTail(bytes: Buffer): void {
    this.#ring ??= Buffer.from(this.#head.subarray(-TAIL_BYTES));
    const last = bytes.subarray(-TAIL_BYTES);
    const copied = last.copy(this.#ring, this.#at);
    last.copy(this.#ring, 0, copied);
    this.#at = (this.#at + last.length) % TAIL_BYTES;
  }
}
