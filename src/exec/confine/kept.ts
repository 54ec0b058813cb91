/** Keeps a bounded part of a program's output, however much it writes. */
import { StringDecoder } from 'node:string_decoder';

const LONGEST_LINE = 8 * 1024;

/** Initial size of the buffer of kept bytes: most programs write little. */
const FIRST_BLOCK_BYTES = 4 * 1024;

/** The first `size` bytes of a stream, copied, so that a kept byte does not retain the whole chunk. */
export class Head {
  seen = 0;
  readonly size: number;
  private block = Buffer.alloc(0);
  private held = 0;

  constructor(size: number) {
    this.size = size;
  }

  add(chunk: Buffer): void {
    this.seen += chunk.length;
    const kept = chunk.subarray(0, this.size - this.held);
    const wanted = this.held + kept.length;
    if (wanted > this.block.length) {
      const larger = Buffer.alloc(Math.min(this.size, Math.max(FIRST_BLOCK_BYTES, this.block.length * 2, wanted)));
      this.block.copy(larger, 0, 0, this.held);
      this.block = larger;
    }
    kept.copy(this.block, this.held);
    this.held = wanted;
  }

  bytes(): Buffer {
    return this.block.subarray(0, this.held);
  }
}

/** The last `size` bytes of a stream. */
export class Tail {
  seen = 0;
  private readonly size: number;
  /** Twice as long as the kept bytes, which are thus moved once for every `size` bytes and not for every chunk. */
  private block = Buffer.alloc(0);
  private held = 0;

  constructor(size: number) {
    this.size = size;
  }

  add(chunk: Buffer): void {
    this.seen += chunk.length;
    const last = chunk.subarray(-this.size);
    if (this.block.length === 0) this.block = Buffer.alloc(2 * this.size);
    if (this.held + last.length > this.block.length) {
      const from = Math.max(0, this.held - this.size);
      this.block.copyWithin(0, from, this.held);
      this.held -= from;
    }
    last.copy(this.block, this.held);
    this.held += last.length;
  }

  text(): string {
    return this.block.subarray(Math.max(0, this.held - this.size), this.held).toString('utf8');
  }
}

/** Calls back with each line, cut at 8 KiB; a carriage return ends a line too. Linear, also when output arrives in small chunks. */
export function lines(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  const add = (text: string): void => {
    if (begun.length < LONGEST_LINE) begun += text.slice(0, LONGEST_LINE - begun.length);
  };
  return (chunk) => {
    const parts = decoder.write(chunk).split(/[\r\n]/);
    for (const [at, part] of parts.entries()) {
      if (at > 0) {
        if (begun !== '') onLine(begun);
        begun = '';
      }
      add(part);
    }
  };
}
