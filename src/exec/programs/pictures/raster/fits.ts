/** Reads the first picture of a FITS file (FITS Standard 4.0): measurements of any range, of which the lowest becomes black and the highest white. */
import { FileRefused } from '../../data/values/value.ts';
import type { Raster } from '../formats/png.ts';
import { level } from './light.ts';

/** Bytes of a header's line, and of what headers and data are filled up to. */
const [CARD, BLOCK] = [80, 2880];
const MOST_CARDS = 20_000;
const BITS: ReadonlySet<number> = new Set([8, 16, 32, 64, -32, -64]);

interface Picture {
  readonly width: number;
  readonly height: number;
  /** One, or red, green and blue. */
  readonly planes: 1 | 3;
  /** Where they begin. */
  readonly from: number;
  readonly bits: number;
  readonly cards: ReadonlyMap<string, string>;
}

/** Goes from unit to unit up to one with a picture. @throws FileRefused */
export function pictureIn(bytes: Buffer): Picture {
  for (let at = 0; at + CARD <= bytes.length; ) {
    const cards = new Map<string, string>();
    let line = '';
    for (; line !== 'END'; at += CARD) {
      if (at + CARD > bytes.length || cards.size > MOST_CARDS) throw new FileRefused('corrupt_input');
      const card = bytes.toString('latin1', at, at + CARD);
      line = card.slice(0, 8).trimEnd();
      if (card.slice(8, 10) === '= ' && !cards.has(line)) cards.set(line, card.slice(10).split('/', 1)[0]?.trim() ?? '');
    }
    const from = Math.ceil(at / BLOCK) * BLOCK;
    const number = (name: string, otherwise = 0): number => Number(cards.get(name) ?? otherwise);
    const bits = number('BITPIX');
    const sides = Array.from({ length: Math.min(999, number('NAXIS')) }, (_, axis) => number(`NAXIS${axis + 1}`));
    if (!BITS.has(bits) || sides.some((side) => !(side >= 0 && side < 2 ** 31))) throw new FileRefused('corrupt_input');
    if (cards.get('ZIMAGE') === 'T')
      throw new FileRefused('unsupported_variant', 'FITS pictures that are compressed in tables are not converted.');
    const [width = 0, height = 0, depth] = sides;
    const isPicture = !cards.has('XTENSION') || cards.get('XTENSION')?.startsWith("'IMAGE");
    if (isPicture && width > 0 && height > 0) return { width, height, planes: depth === 3 ? 3 : 1, from, bits, cards };
    const samples = sides.length === 0 ? 0 : sides.reduce((product, side) => product * side, 1) + number('PCOUNT');
    const size = samples * number('GCOUNT', 1) * Math.abs(bits);
    // A unit of a negative size would be read again and again.
    if (!(size >= 0)) throw new FileRefused('corrupt_input');
    at = from + Math.ceil(size / 8 / BLOCK) * BLOCK;
  }
  throw new FileRefused('unsupported_variant', 'This FITS file has no picture.');
}

/** @throws FileRefused where pixels are missing */
export function decodeFits(bytes: Buffer): Raster {
  const { width, height, planes, from, bits, cards } = pictureIn(bytes);
  const size = Math.abs(bits) / 8;
  const count = width * height;
  if (bytes.length < from + count * planes * size) throw new FileRefused('corrupt_input');
  const number = (name: string): number | undefined => {
    const value = Number(cards.get(name)?.replace('D', 'E'));
    return cards.has(name) && Number.isFinite(value) ? value : undefined;
  };
  const [scale, zero, blank] = [number('BSCALE') ?? 1, number('BZERO') ?? 0, bits > 0 ? number('BLANK') : undefined];
  const read = readerOf(bytes, bits);
  const valueAt = (place: number): number => {
    const raw = read(from + place * size);
    return raw === blank ? Number.NaN : raw * scale + zero;
  };
  let [low, high] = [
    number('DATAMIN') ?? (bits === 8 ? zero : Infinity),
    number('DATAMAX') ?? (bits === 8 ? 255 * scale + zero : -Infinity),
  ];
  if (!(low < high)) {
    [low, high] = [Infinity, -Infinity];
    for (let place = 0; place < count * planes; place++) {
      const value = valueAt(place);
      // Neither what was not measured nor what is infinite.
      if (!Number.isFinite(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  const samples = new Uint16Array(count * planes);
  for (let place = 0; place < count * planes; place++) {
    const [plane, pixel] = [Math.floor(place / count), place % count];
    // The first row is the lowest.
    const row = height - 1 - Math.floor(pixel / width);
    samples[(row * width + (pixel % width)) * planes + plane] = low < high ? level((valueAt(place) - low) / (high - low)) : 0;
  }
  return { width, height, channels: planes, samples };
}

function readerOf(bytes: Buffer, bits: number): (at: number) => number {
  switch (bits) {
    case 8:
      return (at) => bytes.readUInt8(at);
    case 16:
      return (at) => bytes.readInt16BE(at);
    case 32:
      return (at) => bytes.readInt32BE(at);
    case 64:
      return (at) => Number(bytes.readBigInt64BE(at));
    case -32:
      return (at) => bytes.readFloatBE(at);
    default:
      return (at) => bytes.readDoubleBE(at);
  }
}
