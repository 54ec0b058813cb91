/** Counts the pixels that decoding a stream would produce. JPEG, JPEG 2000 and JBIG2 go by their own headers, whatever the dictionary declares. */
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createInflate, inflateSync } from 'node:zlib';
import type { Stream } from './objects.ts';

/** How far to look for a size, bytes: real pictures have it earlier. */
const HEAD_BYTES = 8 << 20;
/** Inflated bytes of one content stream that are searched for inline pictures. */
const MOST_SEARCHED = 256 << 20;

/** @returns px of each picture in the stream */
export async function pixelsOf(stream: Stream, path: string): Promise<readonly number[]> {
  const coding = stream.filters.at(-1);
  const packed = stream.filters.filter((name) => name === 'FlateDecode').length;
  const declared = stream.width * stream.height;
  switch (coding) {
    case 'DCTDecode':
      return [Math.max(declared, jpeg(await headOf(path, packed)))];
    case 'JPXDecode':
      return [Math.max(declared, jpeg2000(await headOf(path, packed)))];
    case 'JBIG2Decode':
      return [declared, ...jbig2(await headOf(path, packed))];
    default:
      return stream.picture || coding === 'CCITTFaxDecode' ? [declared] : inlinePictures(contentOf(path, packed));
  }
}

async function headOf(path: string, packed: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of contentOf(path, packed)) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes >= HEAD_BYTES) break;
  }
  return Buffer.concat(parts);
}

/** Bytes of a stream that is read at once: a file may have a hundred thousand of them, and a pipeline for each takes a millisecond. */
const SMALL_BYTES = 64 << 10;
const MOST_AT_ONCE = 1 << 20;

function smallContent(path: string, packed: number): Buffer | undefined {
  if (packed > 1 || statSync(path).size > SMALL_BYTES) return undefined;
  const bytes = readFileSync(path);
  try {
    return packed === 0 ? bytes : inflateSync(bytes, { maxOutputLength: MOST_AT_ONCE });
  } catch {
    // It is damaged, or becomes large.
    return undefined;
  }
}

/** @param packed how many times the stream is deflated; damage ends it early, as for every reader */
async function* contentOf(path: string, packed: number): AsyncGenerator<Buffer> {
  const small = smallContent(path, packed);
  if (small !== undefined) {
    yield small;
    return;
  }
  let content: NodeJS.ReadableStream = createReadStream(path);
  for (let layer = 0; layer < Math.min(packed, 4); layer++) {
    const inflate = createInflate();
    content.on('error', () => inflate.end());
    content = content.pipe(inflate);
  }
  try {
    for await (const chunk of content) yield chunk as Buffer;
  } catch {
    // The bytes before the damage count.
  }
}

/** ITU-T T.81, B.2: frame headers among the marker segments. */
function jpeg(bytes: Buffer): number {
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return bytes.readUInt16BE(at + 5) * bytes.readUInt16BE(at + 7);
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return 0;
}

/** ITU-T T.800, A.5.1: the SIZ segment directly follows the start of a code stream. More than four components count as more pictures. */
function jpeg2000(bytes: Buffer): number {
  const at = bytes.indexOf(Buffer.from([0xff, 0x4f, 0xff, 0x51]));
  if (at < 0 || at + 42 > bytes.length) return 0;
  const [width, height, left, top] = [8, 12, 16, 20].map((offset) => bytes.readUInt32BE(at + offset)) as [number, number, number, number];
  return Math.max(0, width - left) * Math.max(0, height - top) * Math.ceil(bytes.readUInt16BE(at + 40) / 4);
}

/** Segment types that begin with a size: regions (ITU-T T.88, 7.3 and 7.4.1) and page information (7.4.8). */
const JBIG2_SIZED: ReadonlySet<number> = new Set([4, 6, 7, 20, 22, 23, 36, 38, 39, 40, 42, 43, 48]);

/** Each region is decoded as a separate picture and placed on the page. A page may leave its height open: its stripes are regions. */
function jbig2(bytes: Buffer): number[] {
  const pixels: number[] = [];
  for (let at = 0; at + 11 <= bytes.length; ) {
    const flags = bytes[at + 4] ?? 0;
    const few = (bytes[at + 5] ?? 0) >> 5;
    const referred = few === 7 ? bytes.readUInt32BE(at + 5) & 0x1fff_ffff : few;
    const number = bytes.readUInt32BE(at);
    const references = (few === 7 ? 4 + Math.ceil((referred + 1) / 8) : 1) + referred * (number <= 256 ? 1 : number <= 65_536 ? 2 : 4);
    const data = at + 5 + references + (flags & 0x40 ? 4 : 1) + 4;
    if (data + 8 > bytes.length) break;
    const [width, height] = [bytes.readUInt32BE(data), bytes.readUInt32BE(data + 4)];
    if (JBIG2_SIZED.has(flags & 0x3f) && height !== 0xffff_ffff) pixels.push(width * height);
    at = data + bytes.readUInt32BE(data - 4);
  }
  return pixels;
}

/** Longest dictionary between `BI` and `ID` (ISO 32000-1, 8.9.7) in real files, bytes. */
const INLINE_BYTES = 1024;

async function inlinePictures(content: AsyncIterable<Buffer>): Promise<readonly number[]> {
  const found: number[] = [];
  let rest = '';
  let searched = 0;
  /** @param most where the last one may begin @returns what of the text is still to be searched */
  const search = (text: string, most: number): string => {
    let from = 0;
    let end = -1;
    for (let at = text.indexOf('BI'); at >= 0 && at <= most; at = text.indexOf('BI', from)) {
      // Looked for once, however many begin before it.
      if (end < at) end = text.indexOf('ID', at);
      if (end < 0) end = text.length + INLINE_BYTES;
      from = at + 2;
      if (end - at >= INLINE_BYTES) continue;
      found.push(...pixelsIn(text.slice(from, end)));
      // What begins before the end of a dictionary is a part of it.
      from = end;
    }
    return text.slice(Math.max(from, most + 1));
  };
  for await (const chunk of content) {
    const text = rest + chunk.toString('latin1');
    rest = search(text, text.length - INLINE_BYTES - 1);
    searched += chunk.length;
    if (searched > MOST_SEARCHED) break;
  }
  search(rest, rest.length);
  return found;
}

/** @param words of a dictionary */
function pixelsIn(words: string): number[] {
  const most = (names: RegExp) => Math.max(0, ...[...words.matchAll(names)].map(([, digits]) => Number(digits)));
  return [most(/\/(?:W|Width|Columns)\s{1,9}(\d{1,10})/g) * most(/\/(?:H|Height|Rows)\s{1,9}(\d{1,10})/g)].filter((pixels) => pixels > 0);
}
