/** Embedded OpenType (W3C Member Submission "Embedded OpenType (EOT) File Format", 3 and 4.1): a header before the font, whose bytes may be compressed or masked. */
import { Damaged, type Font, part, readFont, tableOf, writeFont } from './font.ts';

const VERSION = 0x0002_0001;
const MAGIC = 0x504c;
const COMPRESSED = 0x4;
const MASKED = 0x1000_0000;
const MASK = 0x50;
const FIXED_BYTES = 82;

/** By MicroType Express, which no free program unpacks well. */
export const isCompressed = (bytes: Buffer): boolean => (part(bytes, 0, FIXED_BYTES).readUInt32LE(12) & COMPRESSED) !== 0;

/** @throws Damaged */
export function readEot(bytes: Buffer): Font {
  const header = part(bytes, 0, FIXED_BYTES);
  const length = header.readUInt32LE(4);
  if (length > bytes.length - FIXED_BYTES) throw new Damaged('its font lies beyond the end of the file');
  const font = bytes.subarray(bytes.length - length);
  return readFont((header.readUInt32LE(12) & MASKED) === 0 ? font : (font.map((byte) => byte ^ MASK) as Buffer));
}

export function writeEot(font: Font): Buffer {
  const data = writeFont(font);
  const os2 = tableOf(font, 'OS/2') ?? Buffer.alloc(0);
  const fixed = Buffer.alloc(FIXED_BYTES);
  fixed.writeUInt32LE(data.length, 4);
  fixed.writeUInt32LE(VERSION, 8);
  fixed.writeUInt8(1, 26);
  fixed.writeUInt32LE(os2.length < 6 ? 400 : os2.readUInt16BE(4), 28);
  fixed.writeUInt16LE(MAGIC, 34);
  if (os2.length >= 64) {
    os2.copy(fixed, 16, 32, 42);
    fixed.writeUInt8(os2.readUInt16BE(62) & 1, 27);
    fixed.writeUInt16LE(os2.readUInt16BE(8), 32);
    for (const range of [0, 1, 2, 3]) fixed.writeUInt32LE(os2.readUInt32BE(42 + 4 * range), 36 + 4 * range);
  }
  // Pages of codes: since version 1 of the table.
  if (os2.length >= 86) for (const range of [0, 1]) fixed.writeUInt32LE(os2.readUInt32BE(78 + 4 * range), 52 + 4 * range);
  const head = tableOf(readFont(data), 'head');
  if (head !== undefined && head.length >= 12) fixed.writeUInt32LE(head.readUInt32BE(8), 60);
  // Family, style, version, full name: each with its length before and padding after it; then no list of pages that may show the font.
  const names = [1, 2, 5, 4].flatMap((id) => [sized(nameOf(font, id)), Buffer.alloc(2)]);
  const whole = Buffer.concat([fixed, ...names, Buffer.alloc(2), data]);
  whole.writeUInt32LE(whole.length, 0);
  return whole;
}

const sized = (text: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16LE(text.length);
  return Buffer.concat([length, text]);
};

const ENGLISH = 0x409;

/** A name as Windows has it: American English if there is one. UTF-16, little-endian; empty if there is none. */
function nameOf(font: Font, id: number): Buffer {
  const table = tableOf(font, 'name');
  if (table === undefined || table.length < 6) return Buffer.alloc(0);
  const count = Math.min(table.readUInt16BE(2), Math.floor((table.length - 6) / 12));
  const texts = table.readUInt16BE(4);
  let found: Buffer | undefined;
  for (let index = 0; index < count; index++) {
    const [platform, , language, name, length, at] = [0, 2, 4, 6, 8, 10].map((field) => table.readUInt16BE(6 + 12 * index + field));
    if (platform !== 3 || name !== id || (found !== undefined && language !== ENGLISH)) continue;
    const from = texts + (at ?? 0);
    // Whole characters.
    const text = table.subarray(from, from + (length ?? 0));
    found = Buffer.from(text.subarray(0, text.length - (text.length % 2))).swap16();
    if (language === ENGLISH) break;
  }
  return found ?? Buffer.alloc(0);
}
