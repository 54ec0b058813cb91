/** Takes the files out of a compressed TAR (POSIX.1-2017, pax, "ustar Interchange Format"): its entries have a header of 512 bytes each. */
import { gunzipSync } from 'node:zlib';
import { bunzip2 } from './bzip2.ts';

const BLOCK = 512;
/** Larger than any model here, unpacked. */
const MOST_BYTES = 1 << 30;
/** The type of an ordinary file; NUL in old archives. */
const FILE = new Set(['0', '\0']);

/** @returns contents by name, without folders @throws RangeError for a file that ends too early */
export function filesOfTar(packed: Buffer): Readonly<Record<string, readonly Uint8Array[]>> {
  const files: Record<string, readonly Uint8Array[]> = {};
  for (const [path, content] of entriesOfTar(unpacked(packed))) {
    const name = path.split('/').at(-1) ?? '';
    if (/^\w[\w.+-]{0,99}$/.test(name)) files[name] = [content];
  }
  return files;
}

/** @param path of a file in a compressed archive @returns its content; undefined where there is none */
export const memberOfTar = (packed: Buffer, path: string): Uint8Array | undefined => new Map(entriesOfTar(unpacked(packed))).get(path);

const unpacked = (packed: Buffer): Buffer =>
  packed.toString('latin1', 0, 3) === 'BZh' ? bunzip2(packed, MOST_BYTES) : gunzipSync(packed, { maxOutputLength: MOST_BYTES });

/** @param archive not compressed @throws RangeError for a file that ends too early */
function* entriesOfTar(archive: Buffer): Generator<readonly [path: string, content: Uint8Array]> {
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const text = (from: number, length: number) => archive.toString('latin1', at + from, at + from + length);
    const name = text(0, 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 12), 8);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (!(content.length === size)) throw new RangeError(`expected ${size} bytes of ${name.slice(0, 50)}, received ${content.length}`);
    if (FILE.has(text(156, 1))) yield [name, content];
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
  }
}
