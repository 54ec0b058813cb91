/** What sniffing looks at: the beginning and the end of a file, never the whole. */

/** Enough for the local headers of an office document's first parts, and for text statistics. */
export const HEAD_BYTES = 256 * 1024;
/** Enough for the central directory of all but enormous ZIPs. */
export const TAIL_BYTES = 128 * 1024;

export interface Sample {
  /** The first `HEAD_BYTES`, or the whole file. */
  readonly head: Uint8Array;
  /** The last `TAIL_BYTES`, or the whole file; may overlap the head. */
  readonly tail: Uint8Array;
  /** Of the whole file. */
  readonly size: number;
}

/**
 * What the bytes say. `format`: a canonical id. `tie`: one of a group that only a name can tell apart, with the member that is
 * meant when the name says nothing. `refused`: recognised, and nothing that filemill would ever open (executables, playlists, scripts).
 */
export type Detected =
  | { readonly kind: 'format'; readonly format: string }
  | { readonly kind: 'tie'; readonly among: readonly string[]; readonly otherwise: string }
  | { readonly kind: 'refused'; readonly what: string }
  | { readonly kind: 'unknown' };

/** One family's look at a sample; undefined where it is none of the family's. */
export type Sniffer = (sample: Sample) => Detected | undefined;

/** Collects a sample while a stream passes by. */
export class Sampler {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  readonly #tail: Buffer[] = [];
  #tailBytes = 0;
  #size = 0;

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#headBytes < HEAD_BYTES) {
      const part = chunk.subarray(0, HEAD_BYTES - this.#headBytes);
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    while (this.#tailBytes - (this.#tail[0]?.length ?? 0) >= TAIL_BYTES) this.#tailBytes -= this.#tail.shift()?.length ?? 0;
  }

  sample(): Sample {
    return { head: Buffer.concat(this.#head), tail: Buffer.concat(this.#tail).subarray(-TAIL_BYTES), size: this.#size };
  }
}
