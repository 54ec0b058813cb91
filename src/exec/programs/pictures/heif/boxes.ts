/** Reads the metadata of a HEIC or AVIF: boxes (ISO/IEC 14496-12), and its items with their properties (ISO/IEC 23008-12). */
import type { ReadAt } from '../formats/directory.ts';

/** Bytes of the box with all that is said of the pictures: large ones have hundreds of tiles. */
const MOST_META = 4 << 20;
/** Boxes of a file before the one that is looked for. */
const MOST_BOXES = 64;
/** Bytes of an item that is text or EXIF. */
const MOST_SAID = 4 << 20;
/** Parts of all items together: usual ones have one, and those of no size take no bytes of the list. */
const MOST_EXTENTS = 100_000;

interface Box {
  readonly type: string;
  /** Its content, from the place where its head ends. */
  readonly from: number;
  readonly to: number;
}

/** The head of the box at an offset; undefined where there is none, or one that does not fit. */
function boxAt(read: ReadAt, offset: number, end: number): Box | undefined {
  const head = read(offset, 16);
  if (head.length < 8) return undefined;
  const short = head.readUInt32BE(0);
  if (short === 1 && head.length < 16) return undefined;
  const size = short === 0 ? end - offset : short === 1 ? Number(head.readBigUInt64BE(8)) : short;
  const to = offset + size;
  if (size < (short === 1 ? 16 : 8) || to > end) return undefined;
  return { type: head.toString('latin1', 4, 8), from: offset + (short === 1 ? 16 : 8), to };
}

/** The boxes of this type in the content of another one. Parts of the same memory. */
function boxesOf(content: Buffer, type: string): readonly Buffer[] {
  const found: Buffer[] = [];
  const read = (offset: number, length: number) => content.subarray(offset, offset + length);
  for (let box = boxAt(read, 0, content.length); box !== undefined; box = boxAt(read, box.to, content.length))
    if (box.type === type) found.push(content.subarray(box.from, box.to));
  return found;
}

/** The content of the box `meta`, and where it begins. @param size of the file */
export function metaOf(read: ReadAt, size: number): { readonly content: Buffer; readonly at: number } {
  let box = boxAt(read, 0, size);
  for (let count = 0; box !== undefined && count < MOST_BOXES; count++) {
    // Its version and flags are not part of what it contains.
    if (box.type === 'meta' && box.to - box.from <= MOST_META)
      return { content: read(box.from + 4, box.to - box.from - 4), at: box.from + 4 };
    box = boxAt(read, box.to, size);
  }
  return { content: Buffer.alloc(0), at: 0 };
}

export interface Profile {
  readonly content: Buffer;
  /** Where the type of its box stands in `meta`. */
  readonly typeAt: number;
}

/** Colour profiles, as they are stored (ISO/IEC 23008-12, 6.5.5): the content of `colr` behind its kind. */
export const profilesIn = (meta: Buffer): readonly Profile[] =>
  boxesOf(meta, 'iprp')
    .flatMap((content) => boxesOf(content, 'ipco'))
    .flatMap((content) => boxesOf(content, 'colr'))
    .filter((content) => ['prof', 'rICC'].includes(content.toString('latin1', 0, 4)))
    // The same memory; none is so long that its box has the size behind its type.
    .map((content) => ({ content: content.subarray(4), typeAt: content.byteOffset - meta.byteOffset - 4 }));

/** Numbers one after the other; past the end they are 0. */
class Numbers {
  readonly #bytes: Buffer;
  #at = 0;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @param size 0, 1, 2, 4 or 8 bytes */
  take(size: number): number {
    const from = this.#at;
    this.#at += size;
    if (size === 0 || this.#at > this.#bytes.length) return 0;
    return size === 8 ? Number(this.#bytes.readBigUInt64BE(from)) : this.#bytes.readUIntBE(from, size);
  }

  get ended(): boolean {
    return this.#at >= this.#bytes.length;
  }
}

/** The content of the first item of this type (ISO/IEC 14496-12, 8.11.3 and 8.11.6). @param mime of an item of the type `mime` */
export function itemOf(read: ReadAt, meta: Buffer, type: string, mime?: string): Buffer | undefined {
  const [list, places] = [boxesOf(meta, 'iinf')[0], boxesOf(meta, 'iloc')[0]];
  if (list === undefined || places === undefined) return undefined;
  const entry = boxesOf(list.subarray(list[0] === 0 ? 6 : 8), 'infe').find((each) => {
    const at = (each[0] ?? 0) < 3 ? 8 : 10;
    const [, told] = each.toString('latin1', at + 4).split('\0', 2);
    return (each[0] ?? 0) >= 2 && each.toString('latin1', at, at + 4) === type && (mime === undefined || told === mime);
  });
  if (entry === undefined) return undefined;
  const id = (entry[0] ?? 0) < 3 ? entry.readUInt16BE(4) : entry.readUInt32BE(4);
  return contentOf(read, meta, places, id);
}

function contentOf(read: ReadAt, meta: Buffer, places: Buffer, wanted: number): Buffer | undefined {
  const numbers = new Numbers(places);
  const version = numbers.take(1);
  numbers.take(1);
  numbers.take(2);
  const [sizes, more] = [numbers.take(1), numbers.take(1)];
  const [ofOffset, ofLength, ofBase, ofIndex] = [sizes >> 4, sizes & 15, more >> 4, version > 0 ? more & 15 : 0];
  const idBytes = version < 2 ? 2 : 4;
  const [idat = Buffer.alloc(0)] = boxesOf(meta, 'idat');
  let seen = 0;
  for (let left = numbers.take(idBytes); left > 0 && !numbers.ended; left--) {
    const id = numbers.take(idBytes);
    const inBox = version > 0 && (numbers.take(2) & 15) === 1;
    numbers.take(2);
    const base = numbers.take(ofBase);
    const parts: Buffer[] = [];
    let room = MOST_SAID;
    for (let extents = numbers.take(2); extents > 0 && !numbers.ended; extents--) {
      if (++seen > MOST_EXTENTS) return undefined;
      numbers.take(ofIndex);
      const [offset, length] = [base + numbers.take(ofOffset), numbers.take(ofLength)];
      if (id !== wanted || length > room) continue;
      room -= length;
      parts.push(inBox ? idat.subarray(offset, offset + length) : read(offset, length));
    }
    if (id === wanted) return Buffer.concat(parts);
  }
  return undefined;
}
