/** Two ways of packing bytes that Node does not unpack: LZ4 (lz4_Frame_format.md 1.6.4, lz4_Block_format.md) and Snappy (google/snappy, format_description.txt). */
import { beyond } from '../values/value.ts';
import { damaged } from './raw.ts';

/** Bytes that one block may unpack to. */
export const MOST_UNPACKED = 256 << 20;

const FIRST_BYTES = 1 << 16;
const LZ4_FRAME = 0x184d2204;
const isPlainBlock = (size: number): boolean => size >>> 31 === 1;

export function lz4Frames(bytes: Buffer): Uint8Array {
  const out = new Output();
  for (let at = 0; at < bytes.length; ) {
    if (bytes.readUInt32LE(at) !== LZ4_FRAME) throw damaged();
    const flags = bytes.readUInt8(at + 4);
    at += 6 + ((flags & 8) !== 0 ? 8 : 0) + ((flags & 1) !== 0 ? 4 : 0) + 1;
    for (;;) {
      const stated = bytes.readUInt32LE(at);
      at += 4;
      if (stated === 0) break;
      const length = stated & 0x7fff_ffff;
      if (at + length > bytes.length) throw damaged();
      const block = bytes.subarray(at, at + length);
      if (isPlainBlock(stated)) out.add(block, 0, length);
      else lz4Block(block, out);
      at += length + ((flags & 16) !== 0 ? 4 : 0);
    }
    at += (flags & 4) !== 0 ? 4 : 0;
  }
  return out.whole();
}

function lz4Block(bytes: Buffer, out: Output): void {
  for (let at = 0; at < bytes.length; ) {
    const token = bytes.readUInt8(at++);
    const lengthOf = (nibble: number): number => {
      let length = nibble;
      if (nibble !== 15) return length;
      for (let more = 255; more === 255; ) {
        more = bytes.readUInt8(at++);
        length += more;
      }
      return length;
    };
    const literals = lengthOf(token >> 4);
    if (at + literals > bytes.length) throw damaged();
    out.add(bytes, at, literals);
    at += literals;
    // The last sequence ends here.
    if (at === bytes.length) return;
    const back = bytes.readUInt16LE(at);
    at += 2;
    out.repeat(back, lengthOf(token & 15) + 4);
  }
}

export function snappy(bytes: Buffer): Uint8Array {
  let at = 0;
  let [size, shift] = [0, 0];
  for (let byte = 128; byte >= 128; shift += 7) {
    if (shift > 28) throw damaged();
    byte = bytes.readUInt8(at++);
    size += (byte & 127) * 2 ** shift;
  }
  const out = new Output(size);
  while (at < bytes.length) {
    const tag = bytes.readUInt8(at++);
    const kind = tag & 3;
    if (kind === 0) {
      const short = tag >> 2;
      const wide = Math.max(0, short - 59);
      const length = (wide === 0 ? short : bytes.readUIntLE(at, wide)) + 1;
      at += wide;
      if (at + length > bytes.length) throw damaged();
      out.add(bytes, at, length);
      at += length;
    } else if (kind === 1) out.repeat(((tag >> 5) << 8) | bytes.readUInt8(at++), ((tag >> 2) & 7) + 4);
    else {
      const wide = kind === 2 ? 2 : 4;
      out.repeat(bytes.readUIntLE(at, wide), (tag >> 2) + 1);
      at += wide;
    }
  }
  return out.whole();
}

/** What is unpacked: as long as the file says, where it says so. */
class Output {
  #bytes: Buffer;
  #end = 0;
  readonly #size: number | undefined;
  constructor(size?: number) {
    if (size !== undefined && size > MOST_UNPACKED) throw beyond('bytes of a block', MOST_UNPACKED, size);
    this.#bytes = Buffer.alloc(size ?? FIRST_BYTES);
    this.#size = size;
  }
  #reserve(length: number): void {
    const end = this.#end + length;
    if (end <= this.#bytes.length) return;
    if (this.#size !== undefined) throw damaged();
    if (end > MOST_UNPACKED) throw beyond('bytes of a block', MOST_UNPACKED, end);
    this.#bytes = Buffer.concat([this.#bytes], Math.min(MOST_UNPACKED, Math.max(end, 2 * this.#bytes.length)));
  }
  add(from: Buffer, at: number, length: number): void {
    this.#reserve(length);
    from.copy(this.#bytes, this.#end, at, at + length);
    this.#end += length;
  }
  /** What stands so many bytes before the end; it may reach into what it writes. */
  repeat(back: number, length: number): void {
    if (back === 0 || back > this.#end) throw damaged();
    this.#reserve(length);
    const begin = this.#end - back;
    // Twice as much each time, whole repetitions of it.
    for (const end = this.#end + length; this.#end < end; ) {
      const part = Math.min(end - this.#end, this.#end - begin);
      this.#bytes.copyWithin(this.#end, begin, begin + part);
      this.#end += part;
    }
  }
  whole(): Uint8Array {
    if (this.#size !== undefined && this.#end !== this.#size) throw damaged();
    return this.#bytes.subarray(0, this.#end);
  }
}
