/** Containers whose parts state their sizes: one that reaches beyond the end of the file was cut. */
import { has, latin1, u8, u16be, u32be, u32le } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';

/** A fragmented film has two parts a second: more are not followed. */
const MOST_PARTS = 50_000;
/** Sizes of streams that were written without a way back to the beginning. */
const OPEN = new Set([0, 0xffff_ffff, 0x7fff_ffff]);

const BIG = 2 ** 32;
const u64be = (bytes: Uint8Array, at: number): number => u32be(bytes, at) * BIG + u32be(bytes, at + 4);
const u64le = (bytes: Uint8Array, at: number): number => u32le(bytes, at) + u32le(bytes, at + 4) * BIG;

interface Layout {
  /** Where the first part begins. */
  readonly from: number;
  /** Bytes that tell a part's size. */
  readonly headBytes: number;
  /** Parts begin at multiples of it: the bytes up to there are in no size, and may be missing at the end. */
  readonly boundary?: number;
}

/** @param sizeOf head and content together; undefined where it says nothing, and the walk ends */
function reachesBeyond(file: Pieces, { from, headBytes, boundary = 1 }: Layout, sizeOf: (head: Uint8Array) => number | undefined): boolean {
  for (let at = from, part = 0; at < file.size && part < MOST_PARTS; part++) {
    const head = file.read(at, headBytes);
    const size = head.length < headBytes ? undefined : sizeOf(head);
    if (size === undefined || !(size > 0)) return false;
    if (at + size > file.size) return true;
    at += Math.ceil(size / boundary) * boundary;
  }
  return false;
}

/** What follows the samples may be missing without a loss. @returns for `reachesBeyond`: the walk ends behind them */
function upToSamples(name: string, sizeOf: (head: Uint8Array) => number | undefined): (head: Uint8Array) => number | undefined {
  let isPast = false;
  return (head) => {
    if (isPast) return undefined;
    isPast = has(head, 0, name);
    return sizeOf(head);
  };
}

/** ISO 14496-12, 4.2: 0 stands for all that follows, 1 for a longer number. */
export const boxesAreCut = (file: Pieces): boolean =>
  reachesBeyond(file, { from: 0, headBytes: 16 }, (head) => {
    if (!/^[\x20-\x7e©]{4}$/.test(latin1(head, 4, 4))) return undefined;
    const size = u32be(head, 0);
    return size === 1 ? u64be(head, 8) : size < 8 ? undefined : size;
  });

/** RFC 8794, 4 and 6: the header, and the one segment that holds all the rest, unless its size is unknown. */
export function matroskaIsCut(file: Pieces): boolean {
  const head = file.read(0, 4096);
  const header = elementAt(head, 0);
  if (header?.bytes === undefined) return false;
  const segment = elementAt(head, header.start + header.bytes);
  return segment?.bytes !== undefined && segment.start + segment.bytes > file.size;
}

function elementAt(head: Uint8Array, at: number): { readonly start: number; readonly bytes: number | undefined } | undefined {
  const id = Math.clz32(u8(head, at)) - 23;
  const first = u8(head, at + id);
  const length = Math.clz32(first) - 23;
  if (!(first > 0) || id > 4 || at + id + length > head.length) return undefined;
  let bytes = first & (0xff >> length);
  let isUnknown = bytes === 0xff >> length;
  for (let place = 1; place < length; place++) {
    isUnknown &&= u8(head, at + id + place) === 0xff;
    bytes = bytes * 256 + u8(head, at + id + place);
  }
  return { start: at + id + length, bytes: isUnknown ? undefined : bytes };
}

/** Chunks of the first RIFF, which begin at even places; an RF64 states the length of its samples apart (EBU Tech 3306). */
export function riffIsCut(file: Pieces): boolean {
  let samples: number | undefined;
  const sizeOf = (head: Uint8Array): number | undefined => {
    if (has(head, 0, 'ds64')) samples = u64le(head, 16);
    return sizeOfChunk(has(head, 0, 'data') ? (samples ?? u32le(head, 4)) : u32le(head, 4));
  };
  return reachesBeyond(file, { from: 12, headBytes: 24, boundary: 2 }, upToSamples('data', sizeOf));
}
const sizeOfChunk = (size: number): number | undefined => (OPEN.has(size) ? undefined : 8 + size);

/** Audio IFF 1.3: as RIFF, with the larger bytes first. */
export const aiffIsCut = (file: Pieces): boolean =>
  reachesBeyond(
    file,
    { from: 12, headBytes: 8, boundary: 2 },
    upToSamples('SSND', (head) => sizeOfChunk(u32be(head, 4))),
  );

/** A header that states where the samples begin, and how many bytes they are. */
export function auIsCut(file: Pieces): boolean {
  const head = file.read(0, 12);
  const [start, bytes] = [u32be(head, 4), u32be(head, 8)];
  return !OPEN.has(bytes) && start + bytes > file.size;
}

/** Core Audio Format, 2.2: -1 stands for all that follows. */
export const cafIsCut = (file: Pieces): boolean =>
  reachesBeyond(file, { from: 8, headBytes: 12 }, (head) => (u32be(head, 4) === 0xffff_ffff ? undefined : 12 + u64be(head, 4)));

/** Each part has a name of 16 bytes and a length with its head, and begins at a multiple of eight. */
export const w64IsCut = (file: Pieces): boolean =>
  reachesBeyond(
    file,
    { from: 40, headBytes: 24, boundary: 8 },
    upToSamples('data', (head) => u64le(head, 16)),
  );

/** ASF 1.20, 3: objects with a name of 16 bytes; of a broadcast the size of the data is not known. */
export const asfIsCut = (file: Pieces): boolean =>
  reachesBeyond(file, { from: 0, headBytes: 50 }, (head) => {
    const size = u64le(head, 16);
    return size < 24 || (has(head, 0, ASF_DATA) && size <= 50) ? undefined : size;
  });
const ASF_DATA = '\x36\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c';

/** FLV 10.1, E.4.1: behind each tag stands its length, and so at the end. */
export function flvIsCut(file: Pieces): boolean {
  const length = u32be(file.read(file.size - 4, 4), 0);
  const at = file.size - 4 - length;
  if (at < 9) return true;
  const tag = file.read(at, 4);
  return ![8, 9, 18].includes(u8(tag, 0) & 0x1f) || u8(tag, 1) * 0x1_0000 + u16be(tag, 2) + 11 !== length;
}
