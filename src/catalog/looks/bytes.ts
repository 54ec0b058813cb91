/** Reads numbers and signatures from bytes that may be truncated. */

/** Numbers beyond the end are NaN, for which every comparison is false, so a truncated file never matches. */
export const u8 = (bytes: Uint8Array, at: number): number => bytes[at] ?? Number.NaN;
export const u16le = (bytes: Uint8Array, at: number): number => u8(bytes, at) + u8(bytes, at + 1) * 0x100;
export const u16be = (bytes: Uint8Array, at: number): number => u8(bytes, at) * 0x100 + u8(bytes, at + 1);
export const u32le = (bytes: Uint8Array, at: number): number => u16le(bytes, at) + u16le(bytes, at + 2) * 0x1_0000;
export const u32be = (bytes: Uint8Array, at: number): number => u16be(bytes, at) * 0x1_0000 + u16be(bytes, at + 2);

/** How a TIFF, or EXIF, stores its numbers. @param head its first bytes */
export function directoryNumbers(head: Uint8Array) {
  const little = head[0] === 0x49;
  const long = (bytes: Uint8Array, at = 0) => (little ? u32le(bytes, at) : u32be(bytes, at));
  return {
    short: (bytes: Uint8Array, at = 0) => (little ? u16le(bytes, at) : u16be(bytes, at)),
    long,
    // No file is larger than 2^53 bytes.
    longer: (bytes: Uint8Array, at = 0) =>
      little ? long(bytes, at) + long(bytes, at + 4) * 2 ** 32 : long(bytes, at) * 2 ** 32 + long(bytes, at + 4),
  };
}

/** Whether `signature` (Latin-1, one byte per character) is at offset `at`. */
export function has(bytes: Uint8Array, at: number, signature: string): boolean {
  if (at < 0 || at + signature.length > bytes.length) return false;
  for (let i = 0; i < signature.length; i++) if (bytes[at + i] !== signature.charCodeAt(i)) return false;
  return true;
}

/** A view of the same memory with Buffer's methods. */
export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** One character per byte; shorter at the end of the bytes. */
export const latin1 = (bytes: Uint8Array, at: number, length: number): string => asBuffer(bytes).toString('latin1', at, at + length);

/** Offset of the first `signature` at or after `from`, or -1. Linear. */
export const find = (bytes: Uint8Array, signature: string, from = 0): number => asBuffer(bytes).indexOf(signature, from, 'latin1');
