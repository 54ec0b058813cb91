/** Blocks of 4 × 4 pixels in up to three parts with two colours each: BC6H and BC7 (Direct3D 11, "BC6H Format" and "BC7 Format"). */
import type { BlockDecoder } from './blocks.ts';

const PIXELS = 16;
/** Shares of the second colour, of 64, by the bits of an index. */
const WEIGHTS: Readonly<Record<number, readonly number[]>> = {
  2: [0, 21, 43, 64],
  3: [0, 9, 18, 27, 37, 46, 55, 64],
  4: [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64],
};

/** Two parts: a bit for each pixel, the first in the lowest. */
const IN_TWO = [
  ...[0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8, 0xff00, 0xfff0, 0xf000],
  ...[0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce, 0x088c, 0x3110, 0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c],
  ...[0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660],
  ...[0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6, 0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22],
];
/** Three parts: two bits for each pixel. */
const IN_THREE = [
  ...[0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050, 0xaa550000, 0xaa555500, 0xaaaa5500],
  ...[0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250, 0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040],
  ...[0xa4a45000, 0x1a1a0500, 0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200, 0xa9a58000],
  ...[0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50, 0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0],
  ...[0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600, 0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414],
  ...[0x96960000, 0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254],
];
/** Pixels whose index has a bit less: of the second part of two, and of the second and third of three. In the first it is pixel 0. */
const FIXED_OF_TWO = [
  ...[15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8, 8, 2, 2],
  ...[15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2, 2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15],
];
const FIXED_OF_THREE = [
  [
    ...[3, 3, 15, 15, 8, 3, 15, 15, 8, 8, 6, 6, 6, 5, 3, 3, 3, 3, 8, 15, 3, 3, 6, 10, 5, 8, 8, 6, 8, 5, 15, 15],
    ...[8, 15, 3, 5, 6, 10, 8, 15, 15, 3, 15, 5, 15, 15, 15, 15, 3, 15, 5, 5, 5, 8, 5, 10, 5, 10, 8, 13, 15, 12, 3, 3],
  ],
  [
    ...[15, 8, 8, 3, 15, 15, 3, 8, 15, 15, 15, 15, 15, 15, 15, 8, 15, 8, 15, 3, 15, 8, 15, 8, 3, 15, 6, 10, 15, 15, 10, 8],
    ...[15, 3, 15, 10, 10, 8, 9, 10, 6, 15, 8, 15, 3, 6, 6, 8, 15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3, 15, 15, 8],
  ],
];

const partOf = (parts: number, shape: number, pixel: number): number =>
  parts === 1 ? 0 : parts === 2 ? ((IN_TWO[shape] as number) >> pixel) & 1 : ((IN_THREE[shape] as number) >>> (2 * pixel)) & 3;

const isFixed = (parts: number, shape: number, pixel: number): boolean =>
  pixel === 0 ||
  (parts === 2 && FIXED_OF_TWO[shape] === pixel) ||
  (parts === 3 && FIXED_OF_THREE.some((pixels) => pixels[shape] === pixel));

/** Bits of a block, from the lowest of its first byte. */
class Bits {
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;

  start(bytes: Uint8Array, at: number): void {
    this.#bytes = bytes;
    this.#at = at * 8;
  }

  take(count: number): number {
    let value = 0;
    for (let place = 0; place < count; place++, this.#at++)
      value |= (((this.#bytes[this.#at >> 3] as number) >> (this.#at & 7)) & 1) << place;
    return value;
  }
}
const bits = new Bits();

const mix = (one: number, two: number, weight: number): number => ((64 - weight) * one + weight * two + 32) >> 6;

interface Mode {
  readonly parts: number;
  readonly shapeBits: number;
  readonly rotationBits: number;
  readonly choiceBits: number;
  readonly colourBits: number;
  readonly alphaBits: number;
  /** A lowest bit that all channels of an end share, or those of both ends of a part. */
  readonly lowest: 'of each end' | 'of each part' | 'none';
  readonly indexBits: number;
  readonly secondBits: number;
}

const MODES: readonly Mode[] = (
  [
    [3, 4, 0, 0, 4, 0, 'of each end', 3, 0],
    [2, 6, 0, 0, 6, 0, 'of each part', 3, 0],
    [3, 6, 0, 0, 5, 0, 'none', 2, 0],
    [2, 6, 0, 0, 7, 0, 'of each end', 2, 0],
    [1, 0, 2, 1, 5, 6, 'none', 2, 3],
    [1, 0, 2, 0, 7, 8, 'none', 2, 2],
    [1, 0, 0, 0, 7, 7, 'of each end', 4, 0],
    [2, 6, 0, 0, 5, 5, 'of each end', 2, 0],
  ] as const
).map(([parts, shapeBits, rotationBits, choiceBits, colourBits, alphaBits, lowest, indexBits, secondBits]) => ({
  ...{ parts, shapeBits, rotationBits, choiceBits, colourBits, alphaBits, lowest, indexBits, secondBits },
}));

const ends = new Uint8Array(6 * 4);
const first = new Uint8Array(PIXELS);
const second = new Uint8Array(PIXELS);

/** A block of no mode is transparent black. */
export const bc7: BlockDecoder<Uint8Array> = (bytes, at, pixels) => {
  // As many zeros stand before the first one.
  const which = 31 - Math.clz32((bytes[at] as number) & -(bytes[at] as number));
  const mode = MODES[which];
  if (mode === undefined) {
    pixels.fill(0, 0, PIXELS * 4);
    return;
  }
  bits.start(bytes, at);
  bits.take(which + 1);
  const { parts, indexBits, secondBits } = mode;
  const [shape, rotation, choice] = [bits.take(mode.shapeBits), bits.take(mode.rotationBits), bits.take(mode.choiceBits)];
  readEnds(mode);
  for (let pixel = 0; pixel < PIXELS; pixel++) first[pixel] = bits.take(indexBits - (isFixed(parts, shape, pixel) ? 1 : 0));
  if (secondBits > 0) for (let pixel = 0; pixel < PIXELS; pixel++) second[pixel] = bits.take(secondBits - (pixel === 0 ? 1 : 0));
  const [own, other] = [WEIGHTS[indexBits] as readonly number[], WEIGHTS[secondBits || indexBits] as readonly number[]];
  for (let pixel = 0; pixel < PIXELS; pixel++) {
    const from = partOf(parts, shape, pixel) * 8;
    const [one, two] = [own[first[pixel] as number] as number, other[(secondBits > 0 ? second : first)[pixel] as number] as number];
    const [ofColour, ofAlpha] = choice === 1 ? [two, one] : [one, two];
    for (let channel = 0; channel < 4; channel++)
      pixels[pixel * 4 + channel] = mix(
        ends[from + channel] as number,
        ends[from + 4 + channel] as number,
        channel < 3 ? ofColour : ofAlpha,
      );
    if (rotation > 0) {
      const opacity = pixels[pixel * 4 + 3] as number;
      pixels[pixel * 4 + 3] = pixels[pixel * 4 + rotation - 1] as number;
      pixels[pixel * 4 + rotation - 1] = opacity;
    }
  }
};

/** Both ends of each part, four channels of 8 bits. */
function readEnds({ parts, colourBits, alphaBits, lowest }: Mode): void {
  const count = 2 * parts;
  for (let channel = 0; channel < 3; channel++) for (let end = 0; end < count; end++) ends[end * 4 + channel] = bits.take(colourBits);
  for (let end = 0; end < count; end++) ends[end * 4 + 3] = bits.take(alphaBits);
  const more = lowest === 'none' ? 0 : 1;
  let shared = 0;
  for (let end = 0; end < count; end++) {
    if (lowest === 'of each end' || (lowest === 'of each part' && end % 2 === 0)) shared = bits.take(1);
    for (let channel = 0; channel < 4; channel++) {
      const precision = (channel < 3 ? colourBits : alphaBits) + more;
      const value = (((ends[end * 4 + channel] as number) << more) | (more && shared)) << (8 - precision);
      ends[end * 4 + channel] = channel === 3 && alphaBits === 0 ? 255 : value | (value >> precision);
    }
  }
}

/** A mode of BC6H: the bits that choose it, those of an end and of the distances of the others from it, and in which order all of them are stored. */
interface FloatMode {
  readonly chosen: number;
  readonly precision: number;
  readonly distances: readonly [red: number, green: number, blue: number];
  readonly direct?: true;
  /** Colour and end (`w` to `z`), and bits of it, from the first to the last. */
  readonly order: string;
}

const FLOAT_MODES: readonly FloatMode[] = [
  {
    chosen: 0b00,
    precision: 10,
    distances: [5, 5, 5],
    order: 'gy4 by4 bz4 rw0-9 gw0-9 bw0-9 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3',
  },
  {
    chosen: 0b01,
    precision: 7,
    distances: [6, 6, 6],
    order: 'gy5 gz4 gz5 rw0-6 bz0 bz1 by4 gw0-6 by5 bz2 gy4 bw0-6 bz3 bz5 bz4 rx0-5 gy0-3 gx0-5 gz0-3 bx0-5 by0-3 ry0-5 rz0-5',
  },
  {
    chosen: 0b00010,
    precision: 11,
    distances: [5, 4, 4],
    order: 'rw0-9 gw0-9 bw0-9 rx0-4 rw10 gy0-3 gx0-3 gw10 bz0 gz0-3 bx0-3 bw10 bz1 by0-3 ry0-4 bz2 rz0-4 bz3',
  },
  {
    chosen: 0b00110,
    precision: 11,
    distances: [4, 5, 4],
    order: 'rw0-9 gw0-9 bw0-9 rx0-3 rw10 gz4 gy0-3 gx0-4 gw10 gz0-3 bx0-3 bw10 bz1 by0-3 ry0-3 bz0 bz2 rz0-3 gy4 bz3',
  },
  {
    chosen: 0b01010,
    precision: 11,
    distances: [4, 4, 5],
    order: 'rw0-9 gw0-9 bw0-9 rx0-3 rw10 by4 gy0-3 gx0-3 gw10 bz0 gz0-3 bx0-4 bw10 by0-3 ry0-3 bz1 bz2 rz0-3 bz4 bz3',
  },
  {
    chosen: 0b01110,
    precision: 9,
    distances: [5, 5, 5],
    order: 'rw0-8 by4 gw0-8 gy4 bw0-8 bz4 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3',
  },
  {
    chosen: 0b10010,
    precision: 8,
    distances: [6, 5, 5],
    order: 'rw0-7 gz4 by4 gw0-7 bz2 gy4 bw0-7 bz3 bz4 rx0-5 gy0-3 gx0-4 bz0 gz0-3 bx0-4 bz1 by0-3 ry0-5 rz0-5',
  },
  {
    chosen: 0b10110,
    precision: 8,
    distances: [5, 6, 5],
    order: 'rw0-7 bz0 by4 gw0-7 gy5 gy4 bw0-7 gz5 bz4 rx0-4 gz4 gy0-3 gx0-5 gz0-3 bx0-4 bz1 by0-3 ry0-4 bz2 rz0-4 bz3',
  },
  {
    chosen: 0b11010,
    precision: 8,
    distances: [5, 5, 6],
    order: 'rw0-7 bz1 by4 gw0-7 by5 gy4 bw0-7 bz5 bz4 rx0-4 gz4 gy0-3 gx0-4 bz0 gz0-3 bx0-5 by0-3 ry0-4 bz2 rz0-4 bz3',
  },
  {
    chosen: 0b11110,
    precision: 6,
    distances: [6, 6, 6],
    direct: true,
    order: 'rw0-5 gz4 bz0 bz1 by4 gw0-5 gy5 by5 bz2 gy4 bw0-5 gz5 bz3 bz5 bz4 rx0-5 gy0-3 gx0-5 gz0-3 bx0-5 by0-3 ry0-5 rz0-5',
  },
  { chosen: 0b00011, precision: 10, distances: [10, 10, 10], direct: true, order: 'rw0-9 gw0-9 bw0-9 rx0-9 gx0-9 bx0-9' },
  { chosen: 0b00111, precision: 11, distances: [9, 9, 9], order: 'rw0-9 gw0-9 bw0-9 rx0-8 rw10 gx0-8 gw10 bx0-8 bw10' },
  { chosen: 0b01011, precision: 12, distances: [8, 8, 8], order: 'rw0-9 gw0-9 bw0-9 rx0-7 rw11-10 gx0-7 gw11-10 bx0-7 bw11-10' },
  { chosen: 0b01111, precision: 16, distances: [4, 4, 4], order: 'rw0-9 gw0-9 bw0-9 rx0-3 rw15-10 gx0-3 gw15-10 bx0-3 bw15-10' },
];

/** Places in `floatEnds`, and bits, in the order in which they are stored. */
const ORDERS = FLOAT_MODES.map(({ order }) =>
  order.split(' ').flatMap((run) => {
    const place = 'wxyz'.indexOf(run.charAt(1)) * 3 + 'rgb'.indexOf(run.charAt(0));
    const [from = 0, to = from] = run.slice(2).split('-').map(Number);
    return Array.from({ length: Math.abs(to - from) + 1 }, (_, step) => [place, from + (to < from ? -step : step)] as const);
  }),
);

const floatEnds = new Int32Array(4 * 3);

/** Pixels of four numbers of 16 bits: red, green and blue as floats (IEEE 754, binary16), and the 1 that stands for opaque. */
export const bc6h =
  (signed: boolean): BlockDecoder<Uint16Array> =>
  (bytes, at, pixels) => {
    bits.start(bytes, at);
    const low = bits.take(2);
    const chosen = low < 2 ? low : low | (bits.take(3) << 2);
    const which = FLOAT_MODES.findIndex((mode) => mode.chosen === chosen);
    const mode = FLOAT_MODES[which];
    for (let pixel = 0; pixel < PIXELS; pixel++) pixels[pixel * 4 + 3] = 0x3c00;
    if (mode === undefined) {
      for (let pixel = 0; pixel < PIXELS; pixel++) pixels.fill(0, pixel * 4, pixel * 4 + 3);
      return;
    }
    floatEnds.fill(0);
    for (const [place, bit] of ORDERS[which] ?? []) floatEnds[place] = (floatEnds[place] as number) | (bits.take(1) << bit);
    const parts = low === 3 ? 1 : 2;
    const shape = parts === 2 ? bits.take(5) : 0;
    unpack(mode, 2 * parts, signed);
    const indexBits = parts === 2 ? 3 : 4;
    const weights = WEIGHTS[indexBits] as readonly number[];
    for (let pixel = 0; pixel < PIXELS; pixel++) {
      const weight = weights[bits.take(indexBits - (isFixed(parts, shape, pixel) ? 1 : 0))] as number;
      const from = partOf(parts, shape, pixel) * 6;
      for (let channel = 0; channel < 3; channel++)
        pixels[pixel * 4 + channel] = finished(
          mix(floatEnds[from + channel] as number, floatEnds[from + 3 + channel] as number, weight),
          signed,
        );
    }
  };

const extended = (value: number, width: number): number => (value << (32 - width)) >> (32 - width);

/** From distances to ends, and from their precision to 16 bits. */
function unpack({ precision, distances, direct }: FloatMode, count: number, signed: boolean): void {
  for (let place = 0; place < count * 3; place++) {
    const channel = place % 3;
    const stored = floatEnds[place] as number;
    let value = stored;
    if (place < 3 || direct) value = signed ? extended(stored, precision) : stored;
    else {
      const sum = (extended(stored, distances[channel] as number) + (floatEnds[channel] as number)) & (2 ** precision - 1);
      value = signed ? extended(sum, precision) : sum;
    }
    floatEnds[place] = value;
  }
  for (let place = 0; place < count * 3; place++) floatEnds[place] = widened(floatEnds[place] as number, precision, signed);
}

function widened(value: number, precision: number, signed: boolean): number {
  if (!signed) {
    if (precision >= 15 || value === 0) return value;
    return value === 2 ** precision - 1 ? 0xffff : ((value << 16) + 0x8000) >>> precision;
  }
  if (precision >= 16) return value;
  const size = Math.abs(value);
  if (size === 0) return 0;
  const wide = size >= 2 ** (precision - 1) - 1 ? 0x7fff : ((size << 15) + 0x4000) >> (precision - 1);
  return value < 0 ? -wide : wide;
}

function finished(value: number, signed: boolean): number {
  if (!signed) return (value * 31) >> 6;
  return value < 0 ? 0x8000 | ((-value * 31) >> 5) : (value * 31) >> 5;
}
