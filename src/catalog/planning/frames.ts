/** Looks through a file before anything decodes it, to count its pictures: a megabyte can hold 100,000 frames, and every decoder would produce them all. */
import { inputLimit } from '../../errors.ts';
import { MAX_FRAMES, MAX_PAGES } from '../bounds.ts';
import type { Facts } from '../engine.ts';
import { u16be, u16le, u32be, u32le } from '../looks/bytes.ts';
import { depthOfHeif } from './heif-depth.ts';
import type { Pieces } from './pieces.ts';

/** Yields once for each picture, and what it finds beside them, in linear time; ends at the end of the file, or at damage. */
type Walk = (file: Pieces) => Generator<undefined | Facts>;

const WALKS: Readonly<Record<string, { readonly walk: Walk; readonly limit: 'frames' | 'pages'; readonly max: number }>> = {
  gif: { walk: gif, limit: 'frames', max: MAX_FRAMES },
  png: { walk: png, limit: 'frames', max: MAX_FRAMES },
  apng: { walk: png, limit: 'frames', max: MAX_FRAMES },
  webp: { walk: webp, limit: 'frames', max: MAX_FRAMES },
  ico: { walk: icon, limit: 'frames', max: MAX_FRAMES },
  cur: { walk: icon, limit: 'frames', max: MAX_FRAMES },
  tiff: { walk: tiff, limit: 'pages', max: MAX_PAGES },
  // Their inspections count.
  heic: { walk: heif, limit: 'frames', max: MAX_FRAMES },
  avif: { walk: heif, limit: 'frames', max: MAX_FRAMES },
};

/** Stops counting one beyond the bound. @returns what inspections do not find: `orientation` of a PNG, `depth` of a HEIC or AVIF in bits @throws Failure `input_limit` */
export function boundFrames(format: string, file: Pieces): Facts {
  const known = WALKS[format];
  if (known === undefined) return {};
  let [count, facts]: [number, Facts] = [0, {}];
  for (const found of known.walk(file)) {
    if (found !== undefined) facts = found;
    else if (++count > known.max) throw inputLimit(known.limit, known.max, count);
  }
  return facts;
}

/** GIF89a, appendix A: blocks begin with a type byte; data is in sub-blocks of at most 255 bytes. */
function* gif(file: Pieces): Generator<undefined> {
  const table = (flags: number) => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  let at = 13 + table(file.byte(10) ?? 0);
  for (;;) {
    const block = file.read(at, 10);
    if (block[0] === 0x2c) {
      yield;
      at += 11 + table(block[9] ?? 0);
    } else if (block[0] === 0x21) at += 2;
    else if (block[0] === 0x3b || block.length === 0) return;
    else {
      at = nextBlock(file, at);
      continue;
    }
    for (let length = 1; length > 0; at += 1 + length) {
      const next = file.byte(at);
      if (next === undefined) return;
      length = next;
    }
  }
}

/** Skips bytes that are no block, as some decoders do. */
function nextBlock(file: Pieces, from: number): number {
  for (let at = from; at < file.size; ) {
    const bytes = file.read(at, 1024);
    const found = bytes.findIndex((byte) => byte === 0x2c || byte === 0x21 || byte === 0x3b);
    if (found >= 0) return at + found;
    at += Math.max(1, bytes.length);
  }
  return file.size;
}

/** PNG 3, 5.3, 11.3.2.2 and 11.3.4.5: a chunk is a length, a name, data and a checksum; `fcTL` begins a frame, `eXIf` is EXIF. */
function* png(file: Pieces): Generator<undefined | Facts> {
  for (let at = 8; at + 12 <= file.size; ) {
    const head = file.read(at, 8);
    const length = u32be(head, 0);
    if (isNamed(head, 'fcTL', 4)) yield;
    else if (isNamed(head, 'eXIf', 4)) yield { orientation: orientationIn(file.read(at + 8, Math.min(length, MOST_EXIF))) };
    at += 12 + length;
  }
}

/** Bytes. It is in the first directory, which programs write first. */
const MOST_EXIF = 16 * 1024;
const ORIENTATION = 0x0112;

/** @returns 1 to 8, as EXIF has it (CIPA DC-008, 4.6.5.1.6) */
function orientationIn(exif: Uint8Array): number | undefined {
  const { short, long } = numbersIn(exif);
  const first = long(exif, 4);
  const entries = Array.from({ length: Math.min(short(exif, first), Math.floor(exif.length / 12)) }, (_, index) => first + 2 + 12 * index);
  const entry = entries.find((at) => short(exif, at) === ORIENTATION);
  const value = entry === undefined ? 0 : short(exif, entry + 8);
  return value >= 1 && value <= 8 ? value : undefined;
}

/** How a TIFF stores its numbers. @param head its first bytes */
function numbersIn(head: Uint8Array) {
  const little = head[0] === 0x49;
  return {
    short: (bytes: Uint8Array, at = 0) => (little ? u16le(bytes, at) : u16be(bytes, at)),
    long: (bytes: Uint8Array, at = 0) => (little ? u32le(bytes, at) : u32be(bytes, at)),
    // No file is larger than 2^53 bytes.
    longer: (bytes: Uint8Array, at = 0) =>
      little ? u32le(bytes, at) + u32le(bytes, at + 4) * 2 ** 32 : u32be(bytes, at) * 2 ** 32 + u32be(bytes, at + 4),
  };
}

function* heif(file: Pieces): Generator<Facts> {
  yield { depth: depthOfHeif(file) };
}

/** WebP container specification: RIFF chunks with even lengths; `ANMF` holds a frame. */
function* webp(file: Pieces): Generator<undefined> {
  for (let at = 12; at + 8 <= file.size; ) {
    const head = file.read(at, 8);
    if (isNamed(head, 'ANMF', 0)) yield;
    const length = u32le(head, 4);
    at += 8 + length + (length % 2);
  }
}

/** The directory of an icon or cursor has the number of pictures. */
function* icon(file: Pieces): Generator<undefined> {
  const count = u16le(file.read(4, 2), 0);
  for (let index = 0; index < count; index++) yield;
}

/** TIFF 6.0, section 2, and BigTIFF: each directory has the offset of the next. A cycle would never end by itself. */
function* tiff(file: Pieces): Generator<undefined> {
  const head = file.read(0, 16);
  const { short, long, longer } = numbersIn(head);
  const big = short(head, 2) === 43;
  let at = big ? longer(head, 8) : long(head, 4);
  while (at > 0 && at < file.size) {
    yield;
    const entries = big ? longer(file.read(at, 8)) : short(file.read(at, 2));
    const next = big ? at + 8 + 20 * entries : at + 2 + 12 * entries;
    at = big ? longer(file.read(next, 8)) : long(file.read(next, 4));
  }
}

function isNamed(bytes: Uint8Array, name: string, at: number): boolean {
  return [...name].every((letter, index) => bytes[at + index] === letter.charCodeAt(0));
}
