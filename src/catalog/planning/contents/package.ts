/** The parts of a ZIP archive, by its central directory (APPNOTE 4.3.12), read piece by piece. */
import { latin1, u16le, u32le } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';
import { bytesAt, MOST_MEASURED, Unmeasured, unicodeOf, unpacked } from './bytes.ts';

export interface ZipPart {
  readonly name: string;
  readonly method: number;
  readonly isEncrypted: boolean;
  /** Bytes. */
  readonly packed: number;
  readonly size: number;
  /** Where its local header is. */
  readonly at: number;
  /** Date and time as MS-DOS has them (4.4.6). */
  readonly time: number;
  /** Type and rights as Unix has them, 0 where another system packed it. */
  readonly mode: number;
}

const END = 'PK\x05\x06';
const MOST_COMMENT = 65_535;
const MOST_PARTS = 65_535;
/** 4.4.2.2 */
const BY_UNIX = 3;

/** @throws Unmeasured where it is no archive, one of several volumes, or in ZIP64 */
export function partsIn(file: Pieces): readonly ZipPart[] {
  const length = Math.min(file.size, 22 + MOST_COMMENT);
  const tail = bytesAt(file, file.size - length, length);
  const end = tail.lastIndexOf(END, tail.length, 'latin1');
  const [count, bytes, from] = [u16le(tail, end + 10), u32le(tail, end + 12), u32le(tail, end + 16)];
  if (end < 0 || count === MOST_PARTS || from + bytes > file.size) throw new Unmeasured('no directory');
  const directory = bytesAt(file, from, bytes);
  const parts: ZipPart[] = [];
  for (let at = 0, left = count; left > 0 && at + 46 <= directory.length; left--) {
    const [nameBytes, extra, comment] = [u16le(directory, at + 28), u16le(directory, at + 30), u16le(directory, at + 32)];
    const isUtf8 = (u16le(directory, at + 8) & 0x800) !== 0;
    parts.push({
      name: directory.toString(isUtf8 ? 'utf8' : 'latin1', at + 46, at + 46 + nameBytes),
      method: u16le(directory, at + 10),
      isEncrypted: (u16le(directory, at + 8) & 1) !== 0,
      packed: u32le(directory, at + 20),
      size: u32le(directory, at + 24),
      at: u32le(directory, at + 42),
      time: u32le(directory, at + 12),
      mode: directory[at + 5] === BY_UNIX ? u16le(directory, at + 40) : 0,
    });
    at += 46 + nameBytes + extra + comment;
  }
  return parts;
}

export interface Package {
  readonly names: readonly string[];
  /** The texts of all that are read together are within the bound. @returns '' for a part that is not there @throws Unmeasured */
  text(name: string): string;
}

/** A package of XML, as office programs and books have it. @throws Unmeasured */
export function openPackage(file: Pieces): Package {
  const parts = new Map(partsIn(file).map((part) => [part.name, part]));
  let left = MOST_MEASURED;
  return {
    names: [...parts.keys()],
    text(name) {
      const part = parts.get(name);
      if (part === undefined) return '';
      if (part.isEncrypted || part.size > left) throw new Unmeasured('encrypted, or too large');
      const bytes = partContent(file, part, left);
      left -= bytes.length;
      return unicodeOf(bytes);
    },
  };
}

/** @throws Unmeasured */
export function partContent(file: Pieces, { at, packed, method }: ZipPart, most = MOST_MEASURED): Buffer {
  const head = bytesAt(file, at, 30);
  if (latin1(head, 0, 4) !== 'PK\x03\x04') throw new Unmeasured('no header');
  const bytes = bytesAt(file, at + 30 + u16le(head, 26) + u16le(head, 28), packed);
  if (method === 0) return bytes;
  if (method !== 8) throw new Unmeasured(`method ${method}`);
  return unpacked(bytes, 'raw', most);
}
