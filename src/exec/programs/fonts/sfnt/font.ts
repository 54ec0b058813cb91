/** A font as its tables: the container that TrueType and OpenType share ("sfnt"), read with every offset checked and written with new checksums. */

export interface Table {
  readonly tag: string;
  readonly data: Buffer;
}

export interface Font {
  /** The first four bytes of the file, which tell TrueType from CFF outlines. */
  readonly version: number;
  /** In the order in which they lie in the file. */
  readonly tables: readonly Table[];
}

/** The file is damaged, or made to do harm. The message is for logs. */
export class Damaged extends Error {
  override readonly name = 'Damaged';
}

export const TRUETYPE = 0x0001_0000;
const HEADER_BYTES = 12;
const ENTRY_BYTES = 16;
/** Size of all tables of a file together, unpacked, bytes: the largest fonts that exist have 70 MiB, collections of them 200. */
export const MOST_BYTES = 512 << 20;
/** Fonts have some thirty, and those of a collection may share one list. */
const MOST_TABLES = 1000;
/** OpenType 1.9, "Calculating Checksums". */
const WHOLE_FILE = 0xb1b0afba;
const ADJUSTMENT_AT = 8;

/** A part of the file. @throws Damaged if it is not all there */
export function part(bytes: Buffer, at: number, length: number): Buffer {
  if (at + length > bytes.length) throw new Damaged(`${length} bytes at ${at} lie beyond the end of the file`);
  return bytes.subarray(at, at + length);
}

/**
 * @param bytes the whole file, which offsets count from @param at where its directory begins
 * @throws Damaged
 */
export function readFont(bytes: Buffer, at = 0): Font {
  const header = part(bytes, at, HEADER_BYTES);
  const count = header.readUInt16BE(4);
  if (count > MOST_TABLES) throw new Damaged(`a font of ${count} tables`);
  const directory = part(bytes, at + HEADER_BYTES, count * ENTRY_BYTES);
  const found = Array.from({ length: count }, (_, index) => {
    const entry = directory.subarray(index * ENTRY_BYTES);
    const offset = entry.readUInt32BE(8);
    return { tag: entry.toString('latin1', 0, 4), offset, data: part(bytes, offset, entry.readUInt32BE(12)) };
  });
  checkTables(found);
  // Two tables of bitmaps may share their bytes; more than that is a bomb for the program that unpacks them.
  if (tableBytes(found) > 2 * bytes.length) throw new Damaged('its tables overlap');
  found.sort((one, other) => one.offset - other.offset);
  return { version: header.readUInt32BE(0), tables: found.map(({ tag, data }) => ({ tag, data })) };
}

/** @throws Damaged for no tables, or for two with one name */
export function checkTables(tables: readonly { readonly tag: string }[]): void {
  if (tables.length === 0) throw new Damaged('it has no tables');
  if (new Set(tables.map(({ tag }) => tag)).size < tables.length) throw new Damaged('it has a table twice');
}

export const tableBytes = (tables: readonly { readonly data: Buffer }[]): number => tables.reduce((sum, { data }) => sum + data.length, 0);

export const tableOf = ({ tables }: Font, tag: string): Buffer | undefined => tables.find((table) => table.tag === tag)?.data;

/** A whole file. Nothing of a table changes but the sum of the file in `head`, which is wrong where the font came out of another container. */
export function writeFont({ version, tables }: Font): Buffer {
  const count = tables.length;
  const entries = Buffer.alloc(HEADER_BYTES + count * ENTRY_BYTES);
  entries.writeUInt32BE(version, 0);
  entries.writeUInt16BE(count, 4);
  const power = 2 ** Math.floor(Math.log2(count));
  entries.writeUInt16BE((power * ENTRY_BYTES) % 0x1_0000, 6);
  entries.writeUInt16BE(Math.log2(power), 8);
  entries.writeUInt16BE(((count - power) * ENTRY_BYTES) % 0x1_0000, 10);

  let offset = entries.length;
  const placed = tables.map(({ tag, data }) => {
    const padded = Buffer.alloc(data.length + padding(data.length));
    data.copy(padded);
    if (tag === 'head' && data.length >= ADJUSTMENT_AT + 4) padded.writeUInt32BE(0, ADJUSTMENT_AT);
    const at = offset;
    offset += padded.length;
    return { tag, padded, at, length: data.length, sum: checksum(padded) };
  });
  for (const [index, { tag, at, length, sum }] of placed.toSorted((one, other) => (one.tag < other.tag ? -1 : 1)).entries()) {
    const entry = entries.subarray(HEADER_BYTES + index * ENTRY_BYTES);
    entry.write(tag, 0, 4, 'latin1');
    entry.writeUInt32BE(sum, 4);
    entry.writeUInt32BE(at, 8);
    entry.writeUInt32BE(length, 12);
  }
  const head = placed.find(({ tag }) => tag === 'head');
  const whole = placed.reduce((sum, table) => sum + table.sum, checksum(entries));
  if (head !== undefined && head.length >= ADJUSTMENT_AT + 4) head.padded.writeUInt32BE((WHOLE_FILE - whole) >>> 0, ADJUSTMENT_AT);
  return Buffer.concat([entries, ...placed.map(({ padded }) => padded)]);
}

/** To a multiple of four bytes. */
export const padding = (length: number): number => (4 - (length % 4)) % 4;

/** @param padded to four bytes */
export function checksum(padded: Buffer): number {
  let sum = 0;
  for (let at = 0; at < padded.length; at += 4) sum = (sum + padded.readUInt32BE(at)) >>> 0;
  return sum;
}
