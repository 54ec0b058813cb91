/**
 * Reads the picture that all layers of a Photoshop file make together (Adobe Photoshop File Formats Specification, "Photoshop File Format"), where
 * its colours have a palette or are floats.
 */
import { FileRefused } from '../../data/values/value.ts';
import type { Raster } from '../formats/png.ts';
import { encoded } from './light.ts';

/** Numbers of the colour modes. */
const [GREY, INDEXED, RGB] = [1, 2, 3] as const;
/** Identifiers of image resources. */
const [RESOLUTION, TRANSPARENT] = [1005, 1047] as const;
const COLOURS = 256;

export interface PhotoshopHead {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  /** A channel's bits. */
  readonly depth: number;
  readonly mode: number;
  /** PSB: some lengths have twice the bytes. */
  readonly isLarge: boolean;
}

/** @throws FileRefused */
export function photoshopHead(bytes: Buffer): PhotoshopHead {
  const version = bytes.length < 26 || bytes.toString('latin1', 0, 4) !== '8BPS' ? 0 : bytes.readUInt16BE(4);
  if (version !== 1 && version !== 2) throw new FileRefused('corrupt_input');
  const [channels, height, width] = [bytes.readUInt16BE(12), bytes.readUInt32BE(14), bytes.readUInt32BE(18)];
  if (channels < 1 || channels > 56 || width < 1 || height < 1) throw new FileRefused('corrupt_input');
  return { width, height, channels, depth: bytes.readUInt16BE(22), mode: bytes.readUInt16BE(24), isLarge: version === 2 };
}

/** What `inspect` says of it. */
export function photoshopFacts(bytes: Buffer): object {
  const head = photoshopHead(bytes);
  const { width, height, channels, depth, mode } = head;
  const density = sectionsOf(bytes, head).resources.get(RESOLUTION)?.readUInt32BE(0);
  return {
    ...{ width, height, mode, depth, channels },
    isOurs: mode === INDEXED || (depth === 32 && (mode === GREY || mode === RGB)),
    ...(density !== undefined && { density: density / 65_536 }),
  };
}

/** @throws FileRefused */
export function decodePhotoshop(bytes: Buffer): Raster {
  const head = photoshopHead(bytes);
  const { width, height, channels, depth, mode } = head;
  const { palette, resources, from } = sectionsOf(bytes, head);
  const planes = planesOf(bytes, head, from);
  const count = width * height;
  if (mode === INDEXED && depth === 8) {
    if (palette.length < 3 * COLOURS) throw new FileRefused('corrupt_input');
    const transparent = resources.get(TRANSPARENT)?.readUInt16BE(0);
    const samples = new Uint8Array(count * 4);
    const indices = planes(0);
    for (let at = 0; at < count; at++) {
      const index = indices[at] ?? 0;
      for (let channel = 0; channel < 3; channel++) samples[at * 4 + channel] = palette[channel * COLOURS + index] ?? 0;
      samples[at * 4 + 3] = index === transparent ? 0 : 255;
    }
    return { width, height, channels: 4, samples };
  }
  const colours = mode === RGB ? 3 : 1;
  if (depth !== 32 || (mode !== RGB && mode !== GREY) || channels < colours) throw new FileRefused('corrupt_input');
  const samples = new Uint16Array(count * colours);
  for (let channel = 0; channel < colours; channel++) {
    const plane = planes(channel);
    // Linear light.
    for (let at = 0; at < count; at++) samples[at * colours + channel] = encoded(plane.readFloatBE(at * 4));
  }
  return { width, height, channels: colours, samples };
}

interface Sections {
  readonly palette: Buffer;
  /** The first bytes of each, by its identifier; none is shorter than 4. */
  readonly resources: ReadonlyMap<number, Buffer>;
  /** Where the picture begins. */
  readonly from: number;
}

/** @throws FileRefused */
function sectionsOf(bytes: Buffer, { isLarge }: PhotoshopHead): Sections {
  let at = 26;
  const next = (size: 4 | 8): Buffer => {
    if (at + size > bytes.length) throw new FileRefused('corrupt_input');
    const length = size === 4 ? bytes.readUInt32BE(at) : Number(bytes.readBigUInt64BE(at));
    const content = bytes.subarray(at + size, at + size + length);
    if (content.length < length) throw new FileRefused('corrupt_input');
    at += size + length;
    return content;
  };
  const [palette, resources] = [next(4), next(4)];
  next(isLarge ? 8 : 4);
  return { palette, resources: resourcesIn(resources), from: at };
}

function resourcesIn(bytes: Buffer): ReadonlyMap<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + 12 <= bytes.length && bytes.toString('latin1', at, at + 4) === '8BIM'; ) {
    const id = bytes.readUInt16BE(at + 4);
    // A name with its length, and what it holds, each filled up to an even number.
    const name = 1 + bytes.readUInt8(at + 6);
    const length = at + 6 + name + (name % 2);
    if (length + 4 > bytes.length) break;
    const size = bytes.readUInt32BE(length);
    const content = bytes.subarray(length + 4, length + 4 + Math.min(size, 16));
    if (!found.has(id)) found.set(id, content.length < 4 ? Buffer.concat([content, Buffer.alloc(4)]) : content);
    at = length + 4 + size + (size % 2);
  }
  return found;
}

/** One channel after the other, each whole. @throws FileRefused */
function planesOf(bytes: Buffer, { width, height, channels, depth, isLarge }: PhotoshopHead, from: number): (channel: number) => Buffer {
  const row = Math.ceil((width * depth) / 8);
  const begin = from + 2;
  if (begin > bytes.length) throw new FileRefused('corrupt_input');
  const packing = bytes.readUInt16BE(from);
  if (packing === 0)
    return (channel) => {
      const plane = bytes.subarray(begin + channel * row * height, begin + (channel + 1) * row * height);
      if (plane.length < row * height) throw new FileRefused('corrupt_input');
      return plane;
    };
  if (packing !== 1) throw new FileRefused('unsupported_variant', 'This Photoshop file is compressed in a way that is not converted.');
  const size = isLarge ? 4 : 2;
  if (begin + channels * height * size > bytes.length) throw new FileRefused('corrupt_input');
  const lengthAt = (line: number): number => (isLarge ? bytes.readUInt32BE(begin + line * 4) : bytes.readUInt16BE(begin + line * 2));
  return (channel) => {
    let at = begin + channels * height * size;
    for (let line = 0; line < channel * height; line++) at += lengthAt(line);
    const plane = Buffer.alloc(row * height);
    for (let line = 0; line < height; line++) {
      const length = lengthAt(channel * height + line);
      unpack(bytes.subarray(at, at + length), plane.subarray(line * row, (line + 1) * row));
      at += length;
    }
    return plane;
  };
}

/** PackBits (TIFF 6.0, section 9). @throws FileRefused where it does not fill the row */
function unpack(packed: Buffer, row: Buffer): void {
  let to = 0;
  for (let at = 0; at < packed.length && to < row.length; ) {
    const head = packed.readInt8(at++);
    if (head === -128) continue;
    const count = head < 0 ? 1 - head : head + 1;
    if (head < 0) row.fill(packed[at++] ?? 0, to, to + count);
    else {
      packed.copy(row, to, at, at + count);
      at += count;
    }
    to += count;
  }
  if (to < row.length) throw new FileRefused('corrupt_input');
}
