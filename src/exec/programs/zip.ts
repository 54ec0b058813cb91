/** The entries of a ZIP archive, by its central directory (APPNOTE.TXT 6.3.10, 4.3.12). */
const END = 'PK\x05\x06';
const END_BYTES = 22;
const MOST_COMMENT = 65_535;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const UTF8 = 0x800;
export const STORED = 0;
export const DEFLATED = 8;

export interface ZipEntry {
  readonly name: string;
  /** `STORED` or `DEFLATED`: entries that are packed in other ways are left out. */
  readonly method: number;
  /** As it is packed. */
  readonly raw: Buffer;
}

/** Nothing for a file that is no archive, such as an encrypted document. */
export function* zipEntries(bytes: Buffer): Generator<ZipEntry> {
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
    if (local + 30 > bytes.length || (method !== STORED && method !== DEFLATED)) continue;
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    yield { name, method, raw: bytes.subarray(begin, begin + packed) };
  }
}
