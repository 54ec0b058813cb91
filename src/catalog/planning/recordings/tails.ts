/** Streams of frames or pages: the last one, which a cut leaves unfinished, or whose number is not that of the last. */
import { find, has, u8, u16be, u32be } from '../../looks/bytes.ts';
import { frameAt } from '../../looks/sound-frames.ts';
import type { Pieces } from '../pieces.ts';

/** What is read of a file at a time: longer than a page of Ogg, and than many frames of sound, bytes. */
const TAIL = 64 * 1024;
const tailOf = (file: Pieces): Buffer => {
  const from = Math.max(0, file.size - TAIL);
  return Buffer.from(file.read(from, file.size - from));
};

/** RFC 3533, 6: a page has a table of the lengths of its segments. */
export function oggIsCut(file: Pieces): boolean {
  const tail = tailOf(file);
  const at = tail.lastIndexOf('OggS');
  if (at < 0) return true;
  const segments = u8(tail, at + 26);
  const table = tail.subarray(at + 27, at + 27 + segments);
  return !(at + 27 + segments + table.reduce((sum, length) => sum + length, 0) <= tail.length);
}

/** Frames in a row that show where frames are. */
const IN_A_ROW = 3;
/** Tags behind the sound: ID3v1, APEv2, Lyrics3. */
const TAGS = ['TAG', 'APETAGEX', 'LYRICSBEGIN'];
/** A share of what a header counts, which taggers and other headers take. */
const MISSING = 0.01;

/** The header that encoders write into the first frame counts bytes; without it, the last frame is not whole. */
export function framesAreCut(file: Pieces): boolean {
  const said = bytesSaid(file);
  if (said !== undefined) return said.end - file.size > Math.max(2048, MISSING * said.bytes);
  const tail = tailOf(file);
  for (let from = 0; from < tail.length; from++) {
    let [at, count] = [from, 0];
    let frame = frameAt(tail, at);
    const format = frame?.format;
    while (frame !== undefined && frame.format === format && at + frame.length <= tail.length) {
      at += frame.length;
      count++;
      frame = frameAt(tail, at);
    }
    // A frame that is all there but for its end, or not even its head.
    const rest = tail.subarray(at);
    if (count >= IN_A_ROW) return rest.length > 0 && frame?.format === format && !TAGS.some((tag) => has(rest, 0, tag));
  }
  return false;
}

/** Xing's header, and Fraunhofer's VBRI, which states the bytes of all frames. */
function bytesSaid(file: Pieces): { readonly bytes: number; readonly end: number } | undefined {
  const start = pastTags(file);
  const head = Buffer.from(file.read(start, 512));
  if (frameAt(head, 0)?.format !== 'mp3') return undefined;
  const xing = ['Xing', 'Info'].map((name) => find(head, name)).find((at) => at >= 0);
  if (xing !== undefined) {
    const flags = u32be(head, xing + 4);
    const bytes = u32be(head, xing + 8 + ((flags & 1) !== 0 ? 4 : 0));
    return (flags & 2) !== 0 && bytes > 0 ? { bytes, end: start + bytes } : undefined;
  }
  const bytes = has(head, 36, 'VBRI') ? u32be(head, 46) : 0;
  return bytes > 0 ? { bytes, end: start + bytes } : undefined;
}

/** Tags in a row that are passed: a file of empty ones would be read for minutes. */
const MOST_TAGS = 20;

/** Each of four bytes of the size has seven bits (ID3v2.4, 3.1). */
function pastTags(file: Pieces): number {
  let at = 0;
  for (let tag = 0; tag < MOST_TAGS && at < file.size; tag++) {
    const head = file.read(at, 10);
    if (!has(head, 0, 'ID3')) return at;
    at += 10 + [6, 7, 8, 9].reduce((sum, place) => sum * 128 + (u8(head, place) & 0x7f), 0) + ((u8(head, 5) & 0x10) !== 0 ? 10 : 0);
  }
  return at;
}

/** RFC 9639, 8.2: how many samples there are, 0 where it is not known; and the last frame that is whole has its number, and its own. */
export function flacIsCut(file: Pieces): boolean {
  const start = pastTags(file);
  const head = Buffer.from(file.read(start, 42));
  if (!has(head, 0, 'fLaC')) return false;
  const most = u16be(head, 10);
  const samples = (u8(head, 21) & 0x0f) * 2 ** 32 + u32be(head, 22);
  if (samples === 0) return false;
  const tail = tailOf(file);
  let last: number | undefined;
  for (let at = tail.lastIndexOf(0xff); at >= 0 && last === undefined; at = at === 0 ? -1 : tail.lastIndexOf(0xff, at - 1))
    last = endOfFrame(tail, at, u16be(head, 8) === most ? most : 0);
  return last !== undefined && last < samples;
}

/** RFC 9639, 9.1. @param fixed samples of each block, 0 where they differ @returns the number of the sample behind the frame's last */
function endOfFrame(bytes: Buffer, at: number, fixed: number): number | undefined {
  const second = u8(bytes, at + 1);
  if (second !== 0xf8 && second !== 0xf9) return undefined;
  const code = u8(bytes, at + 2) >> 4;
  const rate = u8(bytes, at + 2) & 0x0f;
  const number = codedNumber(bytes, at + 4);
  if (number === undefined || code === 0 || rate === 15) return undefined;
  let next = at + 4 + number.length;
  const stated = code === 6 ? u8(bytes, next) + 1 : code === 7 ? u16be(bytes, next) + 1 : undefined;
  next += code === 6 ? 1 : code === 7 ? 2 : 0;
  next += rate === 12 ? 1 : rate === 13 || rate === 14 ? 2 : 0;
  if (u8(bytes, next) !== crc8(bytes.subarray(at, next))) return undefined;
  const block = stated ?? (code === 1 ? 192 : code <= 5 ? 576 * 2 ** (code - 2) : 256 * 2 ** (code - 8));
  return (second === 0xf8 ? number.value * fixed : number.value) + block;
}

/** As UTF-8 is, up to 36 bits. */
function codedNumber(bytes: Uint8Array, at: number): { readonly value: number; readonly length: number } | undefined {
  const first = u8(bytes, at);
  if (first < 0x80) return { value: first, length: 1 };
  const length = Math.clz32(~first << 24);
  if (!(length >= 2 && length <= 7)) return undefined;
  let value = first & (0x7f >> length);
  for (let place = 1; place < length; place++) value = value * 64 + (u8(bytes, at + place) & 0x3f);
  return { value, length };
}

/** Polynomial x⁸ + x² + x + 1. */
function crc8(bytes: Uint8Array): number {
  let rest = 0;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest & 0x80) !== 0 ? ((rest << 1) ^ 0x07) & 0xff : rest << 1;
  }
  return rest;
}
