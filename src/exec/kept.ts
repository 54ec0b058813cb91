/** What is kept of the words of a program that may never stop talking. */
import { StringDecoder } from 'node:string_decoder';

const LONGEST_LINE = 8 * 1024;

/** The first `size` bytes of a stream. */
export class Head {
  seen = 0;
  readonly size: number;
  private readonly chunks: Buffer[] = [];

  constructor(size: number) {
    this.size = size;
  }

  add(chunk: Buffer): void {
    if (this.seen < this.size) this.chunks.push(chunk.subarray(0, this.size - this.seen));
    this.seen += chunk.length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

/** The last `size` bytes of a stream. */
export class Tail {
  seen = 0;
  private readonly size: number;
  private kept = Buffer.alloc(0);

  constructor(size: number) {
    this.size = size;
  }

  add(chunk: Buffer): void {
    this.seen += chunk.length;
    this.kept = Buffer.concat([this.kept, chunk]).subarray(-this.size);
  }

  text(): string {
    return this.kept.toString('utf8');
  }
}

/** Each line as it comes, cut at 8 KiB; a carriage return ends a line too. */
export function lines(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  return (chunk) => {
    const parts = (begun + decoder.write(chunk)).split(/[\r\n]+/);
    begun = (parts.pop() ?? '').slice(0, LONGEST_LINE);
    for (const part of parts) if (part !== '') onLine(part.slice(0, LONGEST_LINE));
  };
}
