/** Writes a picture as PNG (W3C PNG 3), a stretch of rows at a time. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflate, deflateSync } from 'node:zlib';
import type { Told } from '../../process/answer.ts';

/** Samples row by row, the channels of a pixel beside each other: grey, grey and opacity, red, green and blue, or these and opacity. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 2 | 3 | 4;
  /** 8 or 16 bits each, of which all are used. */
  readonly samples: Uint8Array | Uint16Array;
  /** ICC. */
  readonly profile?: Buffer | undefined;
  /** What it lacks. */
  readonly warnings?: readonly Told[];
}

/** PNG 3, 11.2.1, table 10: by number of channels. */
const COLOUR_TYPES = { 1: 0, 2: 4, 3: 2, 4: 6 } as const;
const BAND_BYTES = 1 << 20;

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const END = chunk('IEND', Buffer.alloc(0));

/** PNG 3, 11.2.1. @param bits of a sample */
function header({ width, height, channels }: Pick<Raster, 'width' | 'height' | 'channels'>, bits: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([bits, COLOUR_TYPES[channels]], 8);
  return chunk('IHDR', head);
}

export async function writePng(path: string, raster: Raster): Promise<void> {
  const { samples, profile } = raster;
  await pipeline(
    bands(raster),
    createDeflate({ chunkSize: 1 << 16 }),
    async function* (packed: AsyncIterable<Buffer>) {
      yield SIGNATURE;
      yield header(raster, samples.BYTES_PER_ELEMENT * 8);
      // A name, its end, and how it is packed.
      if (profile !== undefined) yield chunk('iCCP', Buffer.concat([Buffer.from('ICC\0\0'), deflateSync(profile)]));
      for await (const bytes of packed) yield chunk('IDAT', bytes);
      yield END;
    },
    createWriteStream(path, { flags: 'wx' }),
  );
}

export interface TimedFrame {
  /** As those of a `Raster`. */
  readonly samples: Uint8Array;
  /** How long it is shown. */
  readonly ms: number;
}

/** Frames of one size, shown one after another. */
export interface Animation extends Pick<Raster, 'width' | 'height' | 'channels'> {
  readonly count: number;
  readonly frames: Iterable<TimedFrame>;
}

/** An APNG that runs for ever (PNG 3, 11.3.6), packed quickly rather than well: it is read once. */
export async function writeAnimation(path: string, animation: Animation): Promise<void> {
  await pipeline(animated(animation), createWriteStream(path, { flags: 'wx' }));
}

/** The first frame is the picture that programs without animations show. All chunks of the others are numbered. */
async function* animated({ width, height, channels, count, frames }: Animation): AsyncGenerator<Buffer> {
  yield SIGNATURE;
  yield header({ width, height, channels }, 8);
  yield chunk('acTL', numbers(count, 0));
  let number = 0;
  for (const { samples, ms } of frames) {
    const isFirst = number === 0;
    yield chunk('fcTL', Buffer.concat([numbers(number++, width, height, 0, 0), delayOf(ms)]));
    const packed = Readable.from(bands({ width, height, channels, samples })).pipe(createDeflate({ level: 1, chunkSize: 1 << 16 }));
    for await (const bytes of packed as AsyncIterable<Buffer>)
      yield isFirst ? chunk('IDAT', bytes) : chunk('fdAT', Buffer.concat([numbers(number++), bytes]));
  }
  yield END;
}

/** A fraction of a second, of two bytes each, and how the frame is laid on the one before: it replaces it. */
function delayOf(ms: number): Buffer {
  const bytes = Buffer.alloc(6);
  const parts = [1000, 100, 1].find((each) => (ms * each) / 1000 <= 0xffff) ?? 1;
  bytes.writeUInt16BE(Math.min(0xffff, Math.round((ms * parts) / 1000)), 0);
  bytes.writeUInt16BE(parts, 2);
  return bytes;
}

/** Whole numbers of four bytes. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [place, value] of values.entries()) bytes.writeUInt32BE(value, place * 4);
  return bytes;
}

/** Each row stands behind a byte that names its filter: none. */
function* bands({ width, height, channels, samples }: Raster): Generator<Buffer> {
  const wide = samples.BYTES_PER_ELEMENT;
  const row = width * channels;
  const rows = Math.max(1, Math.floor(BAND_BYTES / (row * wide)));
  for (let top = 0; top < height; top += rows) {
    const count = Math.min(rows, height - top);
    const bytes = Buffer.alloc(count * (1 + row * wide));
    for (let y = 0; y < count; y++) {
      const from = (top + y) * row;
      const part = samples.subarray(from, from + row);
      const at = y * (1 + row * wide) + 1;
      if (part instanceof Uint8Array) bytes.set(part, at);
      else for (let x = 0; x < row; x++) bytes.writeUInt16BE(part[x] as number, at + 2 * x);
    }
    yield bytes;
  }
}

/** PNG 3, 5.3: length, name, content and a check of both. */
export function chunk(name: string, content: Buffer): Buffer {
  const bytes = Buffer.alloc(content.length + 12);
  bytes.writeUInt32BE(content.length);
  bytes.write(name, 4, 'latin1');
  content.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), content.length + 8);
  return bytes;
}

/** Without the opacity, where no pixel has any other than full. */
export function withoutIdleAlpha(raster: Raster): Raster {
  const { width, height, samples } = raster;
  if (raster.channels !== 4) return raster;
  const most = samples instanceof Uint8Array ? 255 : 65_535;
  for (let at = 3; at < samples.length; at += 4) if (samples[at] !== most) return raster;
  // In place: what is read is never before what is written.
  for (let from = 0, to = 0; from < samples.length; from += 4) {
    samples[to++] = samples[from] as number;
    samples[to++] = samples[from + 1] as number;
    samples[to++] = samples[from + 2] as number;
  }
  return { ...raster, channels: 3, samples: samples.subarray(0, width * height * 3) };
}
