/** Whole files and their packed parts in memory, within bounds. */
import { isUtf8 } from 'node:buffer';
import { gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { decodeWide, wideEncoding } from '../../looks/wide.ts';
import type { Pieces } from '../pieces.ts';

/** Bytes of one file, stored or unpacked. What has more is not measured: 0.2 s of work. */
export const MOST_MEASURED = 16 << 20;

/** What is read here is larger than it may be, or damaged. */
export class Unmeasured extends Error {}

/** @throws Unmeasured where the file has fewer bytes there, or the bound is exceeded */
export function bytesAt(file: Pieces, at: number, length: number): Buffer {
  if (!(length >= 0 && length <= MOST_MEASURED && at >= 0 && at + length <= file.size)) throw new Unmeasured(`${length} bytes at ${at}`);
  const bytes = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const piece = file.read(at + done, Math.min(length - done, PIECE));
    if (piece.length === 0) throw new Unmeasured('the file ends');
    bytes.set(piece, done);
    done += piece.length;
  }
  return bytes;
}
/** Read at a time. */
const PIECE = 32 * 1024;

/** @throws Unmeasured */
export const wholeOf = (file: Pieces): Buffer => bytesAt(file, 0, file.size);

const UNPACKERS = { raw: inflateRawSync, zlib: inflateSync, gzip: gunzipSync };

/** @throws Unmeasured where it is damaged, or has more than `most` bytes */
export function unpacked(packed: Uint8Array, by: keyof typeof UNPACKERS, most = MOST_MEASURED): Buffer {
  try {
    return UNPACKERS[by](packed, { maxOutputLength: Math.max(1, Math.min(most, MOST_MEASURED)) });
  } catch (cause) {
    throw new Unmeasured('cannot be unpacked', { cause });
  }
}

/** Text in UTF-8, UTF-16 or UTF-32. @throws Unmeasured for another: only the conversion knows in which encoding it reads it */
export function unicodeOf(bytes: Buffer): string {
  const wide = wideEncoding(bytes);
  if (wide !== undefined) return decodeWide(bytes, wide).replace(/^\ufeff/, '');
  if (!isUtf8(bytes)) throw new Unmeasured('not in Unicode');
  return bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
}
