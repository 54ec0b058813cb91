/** Takes the files out of a compressed TAR (POSIX.1-2017, pax, "ustar Interchange Format"): its entries have a header of 512 bytes each. */
import { gunzipSync } from 'node:zlib';

const BLOCK = 512;
/** Larger than any model here, unpacked. */
const MOST_BYTES = 1 << 30;
/** The type of an ordinary file; NUL in old archives. */
const FILE = new Set(['0', '\0']);

/** @returns contents by name, without folders @throws RangeError for a file that ends too early */
export function filesOfTar(packed: Buffer): Readonly<Record<string, readonly Uint8Array[]>> {
  const archive = gunzipSync(packed, { maxOutputLength: MOST_BYTES });
  const files: Record<string, readonly Uint8Array[]> = {};
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const text = (from: number, length: number) => archive.toString('latin1', at + from, at + from + length);
    const name = text(0, 100).replace(/\0.*$/s, '').split('/').at(-1) ?? '';
    const size = Number.parseInt(text(124, 12), 8);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (!(content.length === size)) throw new RangeError(`expected ${size} bytes of ${name.slice(0, 50)}, received ${content.length}`);
    if (FILE.has(text(156, 1)) && /^\w[\w.+-]{0,99}$/.test(name)) files[name] = [content];
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
  }
  return files;
}
