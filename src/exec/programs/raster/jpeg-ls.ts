/** Reads JPEG-LS (ITU-T T.87): lossless and near-lossless, 2 to 16 bits, in each order of its components. */
import { Unfit } from '../values/value.ts';
import type { Raster } from './png.ts';

/** Markers (ITU-T T.87, table C.1; ITU-T T.81, table B.1). */
const [SOF, LSE, SOS, DRI, EOI, APP8] = [0xf7, 0xf8, 0xda, 0xdd, 0xd9, 0xe8];
/** Bits of the lengths of runs, J[0..31] (A.2.1). */
const RUN_BITS = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/** Contexts of gradients, and the two of what ends a run (A.3.4, A.7). */
const [CONTEXTS, ENDS_RUN] = [365, 365];

interface Frame {
  readonly bits: number;
  readonly width: number;
  readonly height: number;
  /** Their ids. */
  readonly components: readonly number[];
}

/** Presets of the coder (C.2.4.1.1); 0 stands for the default. */
interface Presets {
  readonly most: number;
  readonly thresholds: readonly number[];
  readonly reset: number;
}
const NO_PRESETS: Presets = { most: 0, thresholds: [0, 0, 0], reset: 0 };

interface Segment {
  readonly marker: number;
  readonly content: Buffer;
  /** Where what follows begins. */
  readonly end: number;
}

/** Up to the end of the picture. Behind a scan's head lies its data, which ends at a marker: in it, 0xff stands before bits that begin with 0. */
function* segmentsIn(bytes: Buffer): Generator<Segment> {
  for (let at = 2; at + 4 <= bytes.length; ) {
    const marker = bytes[at + 1] as number;
    if (bytes[at] !== 0xff) throw new Unfit('corrupt_input');
    if (marker === EOI) return;
    // Any number of 0xff may stand before a marker.
    if (marker === 0xff) {
      at++;
      continue;
    }
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (end > bytes.length || end < at + 4) throw new Unfit('corrupt_input');
    yield { marker, content: bytes.subarray(at + 4, end), end };
    at = marker === SOS ? pastScan(bytes, end) : end;
  }
}

const isRestart = (marker: number): boolean => (marker & 0xf8) === 0xd0;

/** The first marker that is not one of a restart. */
function pastScan(bytes: Buffer, from: number): number {
  let at = nextMarker(bytes, from);
  while (isRestart(bytes[at + 1] ?? 0)) at = nextMarker(bytes, at + 2);
  return at;
}

function nextMarker(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 1)) if ((bytes[at + 1] ?? 0xff) >= 0x80) return at;
  return bytes.length;
}

/** @throws Unfit for what is no JPEG-LS, or one that is not read here */
export function frameOf(bytes: Buffer): Frame {
  for (const { marker, content } of segmentsIn(bytes)) if (marker === SOF) return readFrame(content);
  throw new Unfit('corrupt_input');
}

function readFrame(content: Buffer): Frame {
  const count = content[5] ?? 0;
  if (content.length < 6 + 3 * count || count === 0) throw new Unfit('corrupt_input');
  const [bits = 0, height, width] = [content[0], content.readUInt16BE(1), content.readUInt16BE(3)];
  if (bits < 2 || bits > 16) throw new Unfit('corrupt_input');
  if (height === 0 || width === 0) throw new Unfit('unsupported_variant', 'The size of this JPEG-LS picture does not stand in its header.');
  if (count > 4) throw new Unfit('unsupported_variant', 'JPEG-LS pictures of more than four components are not converted.');
  const rows = Array.from({ length: count }, (_, place) => content.subarray(6 + 3 * place, 9 + 3 * place));
  if (rows.some(([, sampling]) => sampling !== 0x11))
    throw new Unfit('unsupported_variant', 'JPEG-LS pictures whose components differ in size are not converted.');
  return { bits, width, height, components: rows.map(([id = 0]) => id) };
}

/** @throws Unfit */
export function decodeJpegLs(bytes: Buffer): Raster {
  let frame: Frame | undefined;
  let presets = NO_PRESETS;
  let interval = 0;
  let samples: Uint8Array | Uint16Array = new Uint8Array(0);
  const seen = new Set<number>();
  for (const { marker, content, end } of segmentsIn(bytes)) {
    if (marker === SOF) {
      if (frame !== undefined) throw new Unfit('corrupt_input');
      frame = readFrame(content);
      const count = frame.width * frame.height * frame.components.length;
      samples = frame.bits > 8 ? new Uint16Array(count) : new Uint8Array(count);
    } else if (marker === LSE) presets = readPresets(content);
    else if (marker === DRI) interval = content.readUIntBE(0, Math.min(content.length, 4));
    // As Hewlett-Packard's program marks it.
    else if (marker === APP8 && content.toString('latin1', 0, 4) === 'mrfx' && content[4] !== 0)
      throw new Unfit('unsupported_variant', 'JPEG-LS pictures with transformed colours are not converted.');
    else if (marker === SOS) {
      if (frame === undefined) throw new Unfit('corrupt_input');
      const scan = readScan(content, frame);
      // Each is decoded once, however often a file says it.
      if (scan.places.some((place) => seen.has(place))) throw new Unfit('corrupt_input');
      for (const place of scan.places) seen.add(place);
      new Scan(bytes, end, frame, presets, scan, samples).decode(interval);
    }
  }
  if (frame === undefined || seen.size < frame.components.length) throw new Unfit('corrupt_input');
  const { width, height, components } = frame;
  return { width, height, channels: components.length as 1 | 2 | 3 | 4, samples };
}

function readPresets(content: Buffer): Presets {
  const kind = content[0];
  if (kind !== 1) throw new Unfit('unsupported_variant', 'JPEG-LS pictures with a table of colours are not converted.');
  if (content.length < 11) throw new Unfit('corrupt_input');
  const [most = 0, first = 0, second = 0, third = 0, reset = 0] = [1, 3, 5, 7, 9].map((at) => content.readUInt16BE(at));
  return { most, thresholds: [first, second, third], reset };
}

interface ScanHead {
  /** The places of its components among those of the frame. */
  readonly places: readonly number[];
  /** How far a sample may be from the original. */
  readonly near: number;
  readonly interleaved: 'not' | 'by line' | 'by sample';
  /** Bits that were cut off before. */
  readonly shift: number;
}

function readScan(content: Buffer, { components, bits }: Frame): ScanHead {
  const count = content[0] ?? 0;
  const [near = 0, order = 0, shift = 0] = content.subarray(1 + 2 * count);
  if (content.length < 4 + 2 * count) throw new Unfit('corrupt_input');
  const places = Array.from({ length: count }, (_, each) => {
    if (content[2 + 2 * each] !== 0) throw new Unfit('unsupported_variant', 'JPEG-LS pictures with a table of colours are not converted.');
    return components.indexOf(content[1 + 2 * each] as number);
  });
  const interleaved = (['not', 'by line', 'by sample'] as const)[order];
  if (count === 0 || places.includes(-1) || new Set(places).size < count || interleaved === undefined) throw new Unfit('corrupt_input');
  if ((interleaved === 'not' && count > 1) || (shift & 15) >= bits) throw new Unfit('corrupt_input');
  return { places, near, interleaved, shift: shift & 15 };
}

/** C.2.4.1.1.1, figure C.3. */
function thresholdsFor(most: number, near: number): readonly [number, number, number] {
  const within = (value: number, least: number): number => (value > most || value < least ? least : value);
  const factor = most >= 128 ? Math.floor((Math.min(most, 4095) + 128) / 256) : Math.floor(256 / (most + 1));
  const [one, two, three] =
    most >= 128
      ? [factor + 2 + 3 * near, factor * 4 + 3 + 5 * near, factor * 17 + 4 + 7 * near]
      : [
          Math.max(2, Math.floor(3 / factor) + 3 * near),
          Math.max(3, Math.floor(7 / factor) + 5 * near),
          Math.max(4, Math.floor(21 / factor) + 7 * near),
        ];
  const first = within(one, near + 1);
  const second = within(two, first);
  return [first, second, within(three, second)];
}

/** Decodes the data of one scan into the samples of the picture (annex A). */
class Scan {
  readonly #bytes: Buffer;
  readonly #frame: Frame;
  readonly #head: ScanHead;
  readonly #samples: Uint8Array | Uint16Array;
  readonly #most: number;
  readonly #near: number;
  readonly #step: number;
  readonly #range: number;
  readonly #escapeBits: number;
  readonly #limit: number;
  readonly #reset: number;
  /** By gradient, from -most to most: its region, -4 to 4 (A.3.3). */
  readonly #regions: Int8Array;
  readonly #a = new Int32Array(CONTEXTS + 2);
  readonly #b = new Int32Array(CONTEXTS + 2);
  readonly #c = new Int32Array(CONTEXTS + 2);
  readonly #n = new Int32Array(CONTEXTS + 2);
  /** By component of the scan. */
  readonly #runIndex: Int32Array;
  /** Scaled to all bits of the result. */
  readonly #shown: Uint16Array;
  // Bits that were read and not used yet.
  #at: number;
  #end = 0;
  #held = 0;
  #count = 0;
  #afterMark = false;
  #beyond = 0;

  constructor(bytes: Buffer, from: number, frame: Frame, presets: Presets, head: ScanHead, samples: Uint8Array | Uint16Array) {
    const all = 2 ** frame.bits - 1;
    const most = presets.most || all;
    const { near, shift } = head;
    if (most > all || near > Math.min(255, most / 2)) throw new Unfit('corrupt_input');
    const defaults = thresholdsFor(most, near);
    const [first, second, third] = presets.thresholds.map((value, place) => value || (defaults[place] as number)) as [
      number,
      number,
      number,
    ];
    if (!(near < first && first <= second && second <= third && third <= most)) throw new Unfit('corrupt_input');
    this.#bytes = bytes;
    this.#at = from;
    this.#frame = frame;
    this.#head = head;
    this.#samples = samples;
    this.#most = most;
    this.#near = near;
    this.#step = 2 * near + 1;
    this.#range = Math.floor((most + 2 * near) / this.#step) + 1;
    this.#escapeBits = Math.ceil(Math.log2(this.#range));
    const bits = Math.max(2, Math.ceil(Math.log2(most + 1)));
    this.#limit = 2 * (bits + Math.max(8, bits));
    this.#reset = presets.reset || 64;
    this.#regions = Int8Array.from({ length: 2 * most + 1 }, (_, place) => {
      const size = Math.abs(place - most);
      const region = size <= near ? 0 : size < first ? 1 : size < second ? 2 : size < third ? 3 : 4;
      return place < most ? -region : region;
    });
    this.#runIndex = new Int32Array(head.places.length);
    const full = samples instanceof Uint8Array ? 255 : 65_535;
    this.#shown = Uint16Array.from({ length: most + 1 }, (_, value) => Math.min(full, Math.round(((value << shift) * full) / all)));
  }

  /** @param interval lines between two restarts; 0: there is none */
  decode(interval: number): void {
    const { width, height, components } = this.#frame;
    const { places, interleaved } = this.#head;
    // One sample before a line and one behind it.
    const lines = () => places.map(() => new Int32Array(width + 2));
    let [before, now] = [lines(), lines()];
    for (let y = 0; y < height; y++) {
      if (interval === 0 ? y === 0 : y % interval === 0) {
        this.#restart(y > 0);
        [before, now] = [lines(), lines()];
      }
      for (const [each, line] of now.entries()) {
        const above = before[each] as Int32Array;
        above[width + 1] = above[width] as number;
        line[0] = above[1] as number;
        if (interleaved !== 'by sample') this.#line(above, line, each);
      }
      if (interleaved === 'by sample') this.#samplesOf(before, now);
      for (const [each, line] of now.entries()) {
        let to = y * width * components.length + (places[each] as number);
        for (let x = 1; x <= width; x++, to += components.length) this.#samples[to] = this.#shown[line[x] as number] as number;
      }
      [before, now] = [now, before];
    }
  }

  #restart(again: boolean): void {
    if (again) {
      if (!isRestart(this.#bytes[this.#end + 1] ?? 0)) throw new Unfit('corrupt_input');
      this.#at = this.#end + 2;
    }
    this.#end = nextMarker(this.#bytes, this.#at);
    [this.#held, this.#count, this.#beyond, this.#afterMark] = [0, 0, 0, false];
    this.#a.fill(Math.max(2, Math.floor((this.#range + 32) / 64)));
    this.#n.fill(1);
    this.#b.fill(0);
    this.#c.fill(0);
    this.#runIndex.fill(0);
  }

  #line(above: Int32Array, line: Int32Array, each: number): void {
    const { width } = this.#frame;
    for (let x = 1; x <= width; x++) {
      const left = line[x - 1] as number;
      const up = above[x] as number;
      const corner = above[x - 1] as number;
      const context = this.#contextOf(left, up, corner, above[x + 1] as number);
      if (context !== 0) {
        line[x] = this.#regular(context, left, up, corner);
        continue;
      }
      const run = this.#run(width - x + 1, each);
      line.fill(left, x, x + run);
      x += run;
      if (x > width) return;
      const over = above[x] as number;
      line[x] = this.#endOfRun(left, over, Math.abs(left - over) <= this.#near, each);
      this.#shorter(each);
    }
  }

  /** A run goes on where all components do, and ends in all of them. */
  #samplesOf(before: readonly Int32Array[], now: readonly Int32Array[]): void {
    const { width } = this.#frame;
    const contexts = new Int32Array(now.length);
    const at = (lines: readonly Int32Array[], each: number, x: number) => (lines[each] as Int32Array)[x] as number;
    for (let x = 1; x <= width; x++) {
      let flat = true;
      for (let each = 0; each < now.length; each++) {
        const context = this.#contextOf(at(now, each, x - 1), at(before, each, x), at(before, each, x - 1), at(before, each, x + 1));
        contexts[each] = context;
        flat &&= context === 0;
      }
      if (!flat) {
        for (const [each, line] of now.entries())
          line[x] = this.#regular(contexts[each] as number, at(now, each, x - 1), at(before, each, x), at(before, each, x - 1));
        continue;
      }
      const run = this.#run(width - x + 1, 0);
      for (const line of now) line.fill(line[x - 1] as number, x, x + run);
      x += run;
      if (x > width) return;
      for (const [each, line] of now.entries()) line[x] = this.#endOfRun(at(now, each, x - 1), at(before, each, x), false, 0);
      this.#shorter(0);
    }
  }

  /** A.3: the gradients around a sample; 0 where it is flat, the same number with the other sign where they are the other way round. */
  #contextOf(left: number, up: number, corner: number, next: number): number {
    const regions = this.#regions;
    const most = this.#most;
    const one = regions[next - up + most] as number;
    const two = regions[up - corner + most] as number;
    const three = regions[corner - left + most] as number;
    return (one * 9 + two) * 9 + three;
  }

  /** A.4 to A.6. */
  #regular(signed: number, left: number, up: number, corner: number): number {
    const sign = signed < 0 ? -1 : 1;
    const context = signed * sign;
    const most = this.#most;
    const low = Math.min(left, up);
    const high = Math.max(left, up);
    const guess = corner >= high ? low : corner <= low ? high : left + up - corner;
    const predicted = Math.max(0, Math.min(most, guess + sign * (this.#c[context] as number)));
    const a = this.#a[context] as number;
    const n = this.#n[context] as number;
    let k = 0;
    while (n << k < a) k++;
    const mapped = this.#golomb(k, this.#limit);
    let error = (mapped & 1) === 1 ? -((mapped + 1) >> 1) : mapped >> 1;
    if (k === 0 && this.#near === 0 && 2 * (this.#b[context] as number) <= -n) error = -error - 1;
    this.#learn(context, error);
    return this.#reconstruct(predicted, sign * error);
  }

  #learn(context: number, error: number): void {
    let a = (this.#a[context] as number) + Math.abs(error);
    let b = (this.#b[context] as number) + error * this.#step;
    let n = this.#n[context] as number;
    if (n === this.#reset) {
      a >>= 1;
      b >>= 1;
      n >>= 1;
    }
    n++;
    const c = this.#c[context] as number;
    if (b <= -n) {
      b = Math.max(b + n, 1 - n);
      if (c > -128) this.#c[context] = c - 1;
    } else if (b > 0) {
      b = Math.min(b - n, 0);
      if (c < 127) this.#c[context] = c + 1;
    }
    this.#a[context] = a;
    this.#b[context] = b;
    this.#n[context] = n;
  }

  #reconstruct(predicted: number, error: number): number {
    const span = this.#range * this.#step;
    let value = predicted + error * this.#step;
    if (value < -this.#near) value += span;
    else if (value > this.#most + this.#near) value -= span;
    return Math.max(0, Math.min(this.#most, value));
  }

  /** A.7.1: how many samples are as the one before, at most those that are left in the line. */
  #run(left: number, each: number): number {
    let length = 0;
    while (this.#bits(1) === 1) {
      const index = this.#runIndex[each] as number;
      const step = 1 << (RUN_BITS[index] as number);
      length += step;
      if (length <= left && index < 31) this.#runIndex[each] = index + 1;
      if (length >= left) return left;
    }
    length += this.#bits(RUN_BITS[this.#runIndex[each] as number] as number);
    if (length >= left) throw new Unfit('corrupt_input');
    return length;
  }

  #shorter(each: number): void {
    this.#runIndex[each] = Math.max(0, (this.#runIndex[each] as number) - 1);
  }

  /** A.7.2: the sample that ends a run. @param flat it differs from the one above as little as from the one before */
  #endOfRun(left: number, up: number, flat: boolean, each: number): number {
    const context = ENDS_RUN + (flat ? 1 : 0);
    const [a, n, negative] = [this.#a[context] as number, this.#n[context] as number, this.#b[context] as number];
    const weighed = flat ? a + (n >> 1) : a;
    let k = 0;
    while (n << k < weighed) k++;
    const mapped = this.#golomb(k, this.#limit - (RUN_BITS[this.#runIndex[each] as number] as number) - 1);
    const told = mapped + (flat ? 1 : 0);
    const odd = told & 1;
    const size = (told + odd) >> 1;
    const error = (k !== 0 || 2 * negative >= n) === (odd === 1) ? -size : size;
    this.#b[context] = negative + (error < 0 ? 1 : 0);
    this.#a[context] = a + ((mapped + 1 - (flat ? 1 : 0)) >> 1);
    if (n === this.#reset) for (const each of [this.#a, this.#b, this.#n]) each[context] = (each[context] as number) >> 1;
    this.#n[context] = (this.#n[context] as number) + 1;
    return flat ? this.#reconstruct(left, error) : this.#reconstruct(up, up < left ? -error : error);
  }

  /** A.5.3. */
  #golomb(k: number, limit: number): number {
    const high = this.#zeros(limit);
    if (high >= limit - this.#escapeBits - 1) return this.#bits(this.#escapeBits) + 1;
    return (high << k) | this.#bits(k);
  }

  /** Zeros before a one, which is read too. */
  #zeros(most: number): number {
    let zeros = 0;
    for (;;) {
      if (this.#count === 0) this.#fill();
      const leading = Math.clz32(this.#held << (32 - this.#count));
      if (leading < this.#count) {
        this.#count -= leading + 1;
        zeros += leading;
        if (zeros > most) throw new Unfit('corrupt_input');
        return zeros;
      }
      zeros += this.#count;
      this.#count = 0;
      if (zeros > most) throw new Unfit('corrupt_input');
    }
  }

  /** @param count up to 16 */
  #bits(count: number): number {
    if (this.#count < count) this.#fill();
    this.#count -= count;
    return (this.#held >>> this.#count) & ((1 << count) - 1);
  }

  /** Behind 0xff a byte has 7 bits. Zeros follow the end: the last bits of a scan may be read with some of those. */
  #fill(): void {
    while (this.#count <= 24) {
      if (this.#at >= this.#end && ++this.#beyond > 4) throw new Unfit('corrupt_input');
      const byte = this.#at < this.#end ? (this.#bytes[this.#at++] as number) : 0;
      const wide = this.#afterMark ? 7 : 8;
      this.#held = (this.#held << wide) | byte;
      this.#count += wide;
      this.#afterMark = byte === 0xff;
    }
  }
}
