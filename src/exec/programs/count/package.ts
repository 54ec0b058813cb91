/** The parts of an office package: a ZIP archive, by its central directory (APPNOTE.TXT 6.3.10, 4.3.12). */
import { Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';

export interface Part {
  /** XML or HTML, or another package; parts of any other kind are left out. */
  readonly kind: 'text' | 'package';
  read(): AsyncIterable<Buffer>;
}

const END = 'PK\x05\x06';
const END_BYTES = 22;
const MOST_COMMENT = 65_535;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const STORED = 0;
const DEFLATED = 8;
/** What cannot have markup, by the names that office programs give it: a part of another name is read, whatever it is called. */
const MEDIA = /\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svm|webp|mp[34]|wav|ttf|otf|odttf|bin|rdf)$/i;

/** Nothing for a file that is no archive, such as an encrypted document. */
export function* partsOf(bytes: Buffer): Generator<Part> {
  // A comment may follow it.
  const from = bytes.lastIndexOf(Buffer.from(END, 'latin1'));
  if (from < 0 || from < bytes.length - END_BYTES - MOST_COMMENT || from + END_BYTES > bytes.length) return;
  let at = bytes.readUInt32LE(from + 16);
  for (let count = bytes.readUInt16LE(from + 10); count > 0; count--) {
    if (at + ENTRY_BYTES > bytes.length || bytes.readUInt32LE(at) !== ENTRY) return;
    const [method, packed, local] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 42)];
    const [nameBytes, extra, comment] = [bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32)];
    const name = bytes.toString('latin1', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes);
    at += ENTRY_BYTES + nameBytes + extra + comment;
    if (MEDIA.test(name) || local + 30 > bytes.length || (method !== STORED && method !== DEFLATED)) continue;
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const raw = bytes.subarray(begin, begin + packed);
    yield { kind: /\.(?:docx|odt|pptx|odp|docm|dotx)$/i.test(name) ? 'package' : 'text', read: () => unpacked(raw, method) };
  }
}

async function* unpacked(raw: Buffer, method: number): AsyncGenerator<Buffer> {
  if (method === STORED) yield raw;
  else yield* Readable.from([raw]).pipe(createInflateRaw({ chunkSize: 1 << 18 })) as AsyncIterable<Buffer>;
}
