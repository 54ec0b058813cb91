/** Directories of tagged values, which TIFF and EXIF have in common. (TIFF 6.0, section 2; CIPA DC-008, 4.6.2) */

/** A tag and its value, whose numbers are little-endian here. */
export interface TagField {
  readonly tag: number;
  readonly type: number;
  readonly count: number;
  readonly value: Buffer;
}

/** Bytes of a file, or of a block within one. What lies behind the end is missing from the result. */
export type ReadAt = (offset: number, length: number) => Buffer;

/** Bytes of a value, and of each number in it, by type. */
const SIZES: Readonly<Record<number, readonly [value: number, number: number]>> = {
  1: [1, 1],
  2: [1, 1],
  3: [2, 2],
  4: [4, 4],
  5: [8, 4],
  6: [1, 1],
  7: [1, 1],
  8: [2, 2],
  9: [4, 4],
  10: [8, 4],
  11: [4, 4],
  12: [8, 8],
  13: [4, 4],
};
const ENTRY = 12;
/** More than any camera or program writes. */
const MOST_FIELDS = 1000;
/** Bytes of all values of a directory. Notes of cameras may hold a preview. */
const MOST_BYTES = 4 << 20;

export type ByteOrder = 'II' | 'MM';

/** @returns the order of the bytes and the place of the first directory; undefined for what is no TIFF, or one with offsets of 64 bits */
export function headOf(read: ReadAt): { readonly order: ByteOrder; readonly first: number } | undefined {
  const head = read(0, 8);
  const order = head.toString('latin1', 0, 2);
  if (head.length < 8 || (order !== 'II' && order !== 'MM') || u16(head, 2, order) !== 42) return undefined;
  return { order, first: u32(head, 4, order) };
}

/** The entries as they are stored, each of which tells where its value lies, and the place of the next directory. */
export function entriesAt(read: ReadAt, order: ByteOrder, offset: number): { readonly entries: readonly Buffer[]; readonly next: number } {
  const counted = read(offset, 2);
  const count = counted.length < 2 ? 0 : Math.min(MOST_FIELDS, u16(counted, 0, order));
  const bytes = read(offset + 2, count * ENTRY + 4);
  const whole = Math.min(count, Math.floor(bytes.length / ENTRY));
  const entries = Array.from({ length: whole }, (_, index) => bytes.subarray(index * ENTRY, (index + 1) * ENTRY));
  return { entries, next: bytes.length < count * ENTRY + 4 ? 0 : u32(bytes, count * ENTRY, order) };
}

export const tagOf = (entry: Buffer, order: ByteOrder): number => u16(entry, 0, order);

/** @param wanted tags; undefined: all. What is damaged or too long is left out */
export function fieldsAt(read: ReadAt, order: ByteOrder, offset: number, wanted?: ReadonlySet<number>): readonly TagField[] {
  let left = MOST_BYTES;
  return entriesAt(read, order, offset).entries.flatMap((entry): TagField[] => {
    const [tag, type, count] = [tagOf(entry, order), u16(entry, 2, order), u32(entry, 4, order)];
    const [size, unit] = SIZES[type] ?? [0, 0];
    const length = size * count;
    if (length === 0 || length > left || wanted?.has(tag) === false) return [];
    left -= length;
    const stored = length <= 4 ? entry.subarray(8, 8 + length) : read(u32(entry, 8, order), length);
    return stored.length < length ? [] : [{ tag, type, count, value: ordered(stored, unit, order) }];
  });
}

/** What is added to a file, or is one: values and directories, each of which is told its place. @param base bytes before it */
export function layout(base: number, order: ByteOrder) {
  const parts: Buffer[] = [];
  let size = 0;
  const put = (bytes: Buffer): number => {
    const at = base + size;
    // Each begins at an even place.
    parts.push(bytes, Buffer.alloc(bytes.length % 2));
    size += bytes.length + (bytes.length % 2);
    return at;
  };
  const entryOf = ({ tag, type, count, value }: TagField): Buffer => {
    const stored = ordered(value, SIZES[type]?.[1] ?? 1, order);
    const entry = Buffer.alloc(ENTRY);
    entry.set(words(order, [tag, type], [count]));
    entry.set(stored.length <= 4 ? stored : words(order, [], [put(stored)]), 8);
    return entry;
  };
  const directory = (entries: readonly Buffer[], next = 0): number => {
    const sorted = [...entries].sort((a, b) => tagOf(a, order) - tagOf(b, order));
    return put(Buffer.concat([words(order, [sorted.length], []), ...sorted, words(order, [], [next])]));
  };
  return { entryOf, directory, bytes: () => Buffer.concat(parts) };
}

/** A field that tells where a directory lies. */
export const pointer = (tag: number, to: number): TagField => ({ tag, type: 4, count: 1, value: words('II', [], [to]) });
export const placeIn = ({ value }: TagField): number => (value.length === 4 ? value.readUInt32LE() : 0);

const u16 = (bytes: Buffer, at: number, order: ByteOrder): number => (order === 'II' ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
const u32 = (bytes: Buffer, at: number, order: ByteOrder): number => (order === 'II' ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));

export function words(order: ByteOrder, short: readonly number[], long: readonly number[]): Buffer {
  const bytes = Buffer.alloc(short.length * 2 + long.length * 4);
  for (const [at, value] of short.entries()) order === 'II' ? bytes.writeUInt16LE(value, at * 2) : bytes.writeUInt16BE(value, at * 2);
  const rest = bytes.subarray(short.length * 2);
  for (const [at, value] of long.entries()) order === 'II' ? rest.writeUInt32LE(value, at * 4) : rest.writeUInt32BE(value, at * 4);
  return bytes;
}

/** From little-endian to `order`, or back. @param unit bytes of a number */
function ordered(bytes: Buffer, unit: number, order: ByteOrder): Buffer {
  if (order === 'II' || unit === 1) return bytes;
  const turned = Buffer.from(bytes);
  return unit === 2 ? turned.swap16() : unit === 4 ? turned.swap32() : turned.swap64();
}
