/** Fonts as the web ships them: WOFF (W3C Recommendation "WOFF File Format 1.0"), and what the directory of a WOFF2 tells ("WOFF File Format 2.0", 4). */
import { deflateSync, inflateSync } from 'node:zlib';
import { checksum, checkTables, Damaged, type Font, MOST_BYTES, padding, part } from './font.ts';

const HEADER_BYTES = 44;
const ENTRY_BYTES = 20;

/** @throws Damaged */
export function readWoff(bytes: Buffer): Font {
  const header = part(bytes, 0, HEADER_BYTES);
  const count = header.readUInt16BE(12);
  const directory = part(bytes, HEADER_BYTES, count * ENTRY_BYTES);
  let left = MOST_BYTES;
  const found = Array.from({ length: count }, (_, index) => {
    const entry = directory.subarray(index * ENTRY_BYTES);
    const [offset, packed, length] = [entry.readUInt32BE(4), entry.readUInt32BE(8), entry.readUInt32BE(12)];
    left -= length;
    if (left < 0) throw new Damaged('it declares more than any font has');
    return { tag: entry.toString('latin1', 0, 4), offset, data: unpacked(part(bytes, offset, packed), length) };
  });
  checkTables(found);
  found.sort((one, other) => one.offset - other.offset);
  return { version: header.readUInt32BE(4), tables: found.map(({ tag, data }) => ({ tag, data })) };
}

/** A table that compression would not make smaller is stored as it is. */
function unpacked(packed: Buffer, length: number): Buffer {
  if (packed.length === length) return packed;
  if (packed.length > length) throw new Damaged('a table is longer packed than unpacked');
  let data: Buffer;
  try {
    data = inflateSync(packed, { maxOutputLength: Math.max(1, length) });
  } catch (cause) {
    throw new Damaged('a table cannot be unpacked', { cause });
  }
  if (data.length !== length) throw new Damaged('a table has another length than it declares');
  return data;
}

/** Whether it has metadata for people, or data of its maker's own, which no font file has a place for. */
export const hasWoffExtras = (bytes: Buffer): boolean => {
  const header = part(bytes, 0, HEADER_BYTES);
  return header.readUInt32BE(28) > 0 || header.readUInt32BE(40) > 0;
};

export function writeWoff(font: Font): Buffer {
  const { tables } = font;
  const directory = Buffer.alloc(HEADER_BYTES + tables.length * ENTRY_BYTES);
  let offset = directory.length;
  const blocks: Buffer[] = [];
  const placed = tables.map(({ tag, data }) => {
    const packed = deflateSync(data, { level: 9 });
    const kept = packed.length < data.length ? packed : data;
    const at = offset;
    offset += kept.length + padding(kept.length);
    blocks.push(kept, Buffer.alloc(padding(kept.length)));
    return { tag, at, packed: kept.length, length: data.length, sum: sumOf(tag, data) };
  });
  for (const [index, { tag, at, packed, length, sum }] of placed.toSorted((one, other) => (one.tag < other.tag ? -1 : 1)).entries()) {
    const entry = directory.subarray(HEADER_BYTES + index * ENTRY_BYTES);
    entry.write(tag, 0, 4, 'latin1');
    for (const [field, value] of [at, packed, length, sum].entries()) entry.writeUInt32BE(value, 4 + 4 * field);
  }
  directory.write('wOFF', 0, 4, 'latin1');
  directory.writeUInt32BE(font.version, 4);
  directory.writeUInt32BE(offset, 8);
  directory.writeUInt16BE(tables.length, 12);
  directory.writeUInt32BE(
    tables.reduce((sum, { data }) => sum + data.length + padding(data.length), 12 + 16 * tables.length),
    16,
  );
  directory.writeUInt16BE(1, 20);
  return Buffer.concat([directory, ...blocks]);
}

/** As in a font file: that of `head` leaves out the sum of the file. */
function sumOf(tag: string, data: Buffer): number {
  const padded = Buffer.alloc(data.length + padding(data.length));
  data.copy(padded);
  if (tag === 'head' && data.length >= 12) padded.writeUInt32BE(0, 8);
  return checksum(padded);
}

/** Tables by their number in the directory of a WOFF2 (5.2, "Known Table Tags"). */
const KNOWN = (
  'cmap head hhea hmtx maxp name OS/2 post cvt  fpgm glyf loca prep CFF  VORG EBDT EBLC gasp hdmx kern LTSH PCLT VDMX vhea vmtx BASE GDEF GPOS GSUB ' +
  'EBSC JSTF MATH CBDT CBLC COLR CPAL SVG  sbix acnt avar bdat bloc bsln cvar fdsc feat fmtx fvar gvar hsty just lcar mort morx opbd prop trak Zapf ' +
  'Silf Glat Gloc Feat Sill'
).match(/.{4} ?/gs);
const ARBITRARY = 63;

export interface Woff2 {
  readonly version: number;
  readonly tags: readonly string[];
  /** Size of all tables, unpacked, bytes. */
  readonly size: number;
  readonly hasExtras: boolean;
}

/** Reads the directory alone. @throws Damaged */
export function readWoff2(bytes: Buffer): Woff2 {
  const header = part(bytes, 0, 48);
  let at = 48;
  const byte = (): number => part(bytes, at++, 1).readUInt8(0);
  /** UIntBase128: at most five bytes, without leading zeros. */
  const number = (): number => {
    let value = 0;
    for (let count = 0; count < 5; count++) {
      const next = byte();
      value = value * 128 + (next & 0x7f);
      if (next < 0x80) return value;
    }
    throw new Damaged('a number in its directory does not end');
  };
  let size = 0;
  const tags = Array.from({ length: header.readUInt16BE(12) }, () => {
    const flags = byte();
    const known = flags & 0x3f;
    const tag = known === ARBITRARY ? part(bytes, at, 4).toString('latin1') : (KNOWN?.[known]?.slice(0, 4) ?? '');
    if (known === ARBITRARY) at += 4;
    size += number();
    const transform = flags >> 6;
    // For glyf and loca, 3 means no transformation; for all other tables, 0 does.
    if (tag === 'glyf' || tag === 'loca' ? transform !== 3 : transform !== 0) number();
    return tag;
  });
  if (tags.length === 0) throw new Damaged('it has no tables');
  return { version: header.readUInt32BE(4), tags, size, hasExtras: header.readUInt32BE(32) > 0 || header.readUInt32BE(44) > 0 };
}
