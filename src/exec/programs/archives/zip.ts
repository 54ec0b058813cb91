/** ZIP archives (APPNOTE.TXT 6.3.10): the entries of one, by its central directory (4.3.12), and one of given files. */
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { beyond, FileRefused } from '../data/values/value.ts';

const END = 'PK\x05\x06';
const END_BYTES = 22;
const MOST_COMMENT = 65_535;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const [ENCRYPTED, UTF8] = [1, 0x800];
export const STORED = 0;
export const DEFLATED = 8;

export interface ZipEntry {
  readonly name: string;
  /** `STORED` or `DEFLATED`; with `others`, any method. */
  readonly method: number;
  readonly isEncrypted: boolean;
  /** As it is packed. */
  readonly raw: Buffer;
}

export const isUnpackable = ({ method }: Pick<ZipEntry, 'method'>): boolean => method === STORED || method === DEFLATED;

/** Yields nothing for a file that is no archive, such as an encrypted document. @param others also entries that cannot be unpacked here */
export function* zipEntries(bytes: Buffer, { others = false } = {}): Generator<ZipEntry> {
  // A comment may follow it.
  const from = bytes.lastIndexOf(Buffer.from(END, 'latin1'));
  if (from < 0 || from < bytes.length - END_BYTES - MOST_COMMENT || from + END_BYTES > bytes.length) return;
  let at = bytes.readUInt32LE(from + 16);
  for (let count = bytes.readUInt16LE(from + 10); count > 0; count--) {
    if (at + ENTRY_BYTES > bytes.length || bytes.readUInt32LE(at) !== ENTRY) return;
    const [flags, method] = [bytes.readUInt16LE(at + 8), bytes.readUInt16LE(at + 10)];
    const [packed, local] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 42)];
    const [nameBytes, extra, comment] = [bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32)];
    const name = bytes.toString(flags & UTF8 ? 'utf8' : 'latin1', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes);
    at += ENTRY_BYTES + nameBytes + extra + comment;
    if (local + 30 > bytes.length || !(others || isUnpackable({ method }))) continue;
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    yield { name, method, isEncrypted: (flags & ENCRYPTED) !== 0, raw: bytes.subarray(begin, begin + packed) };
  }
}

/** For entries that are stored or deflated. @param most bytes @throws FileRefused for more of them, and for what is damaged */
export function unpackedEntry({ method, raw }: ZipEntry, most: number): Buffer {
  if (raw.length > most) throw beyond('unpacked bytes', most);
  try {
    return method === STORED ? raw : inflateRawSync(raw, { maxOutputLength: Math.max(1, most) });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? beyond('unpacked bytes', most)
      : new FileRefused('corrupt_input');
  }
}

/** Unix: a file that its owner may write (APPNOTE.TXT, 4.4.2 and 4.4.15). */
const [MADE_BY_UNIX, PLAIN_FILE] = [(3 << 8) | 20, 0o100644 * 2 ** 16];
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
/** The first of January 2020, so that equal files give equal archives (4.4.6). */
const DATE = ((2020 - 1980) << 9) | (1 << 5) | 1;

/** What its fields hold (4.4.1.4, 4.4.8, 4.4.21). */
const [MOST_FILES, MOST_ARCHIVED] = [65_535, 2 ** 32 - 1];

/** An archive of files, each packed where that makes it smaller. @throws FileRefused beyond 65,535 of them, or 4 GiB in all */
export function* zipOf(files: Iterable<{ readonly name: string; readonly bytes: Buffer }>): Generator<Buffer> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, bytes } of files) {
    const [encoded, deflated] = [Buffer.from(name), deflateRawSync(bytes)];
    const [method, packed] = deflated.length < bytes.length ? [DEFLATED, deflated] : [STORED, bytes];
    /** What both headers say of it (4.3.7, 4.3.12). */
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(UTF8, 2);
    fields.writeUInt16LE(method, 4);
    fields.writeUInt16LE(DATE, 8);
    fields.writeUInt32LE(crc32(bytes), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(bytes.length, 18);
    fields.writeUInt16LE(encoded.length, 22);
    yield* [uint32(LOCAL), fields, encoded, packed];
    const place = Buffer.alloc(14);
    place.writeUInt32LE(PLAIN_FILE, 6);
    place.writeUInt32LE(at, 10);
    directory.push(uint32(ENTRY), uint16(MADE_BY_UNIX), fields, place, encoded);
    if (directory.length / 5 > MOST_FILES) throw beyond('files in an archive', MOST_FILES);
    at += LOCAL_BYTES + encoded.length + packed.length;
    if (at > MOST_ARCHIVED) throw beyond('bytes of an archive', MOST_ARCHIVED, at);
  }
  const entries = directory.length / 5;
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  yield* [...directory, Buffer.from(END, 'latin1'), uint32(0), uint16(entries), uint16(entries), uint32(size), uint32(at), uint16(0)];
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
