/** Reads GIMP's own files, from version 0 to those of GIMP 3: visible layers, laid on one another (GIMP, devel-docs/xcf.txt). */
import { inflateSync } from 'node:zlib';
import { beyond, FileRefused } from '../../data/values/value.ts';
import { lossy } from '../../process/answer.ts';
import type { Raster } from '../formats/png.ts';
import { encoded, level, light, ofHalf } from './light.ts';

/** Numbers of properties. */
const [END, COLOURS, OPACITY, MODE, VISIBLE, APPLY_MASK, OFFSETS, COMPRESSION, PARASITES, GROUP, PATH, OPACITY_FLOAT] = [
  0, 1, 6, 7, 8, 11, 15, 17, 21, 29, 30, 33,
];
const TILE = 64;
const MOST_LAYERS = 1000;
/** A layer has some thirty. Those of all layers and masks count together, which may share them. */
const MOST_PROPERTIES = 1_000_000;
/** Bytes of a layer's place among groups, four for each level. */
const MOST_PATH = 4 * 64;
/** The sum over all layers. */
const MOST_PIXELS = 400_000_000;
const BLENDED = 'Some layers change those below them in ways that are not converted: they cover them instead.';
/** Bytes of a compressed tile in which each byte costs two. */
const SLACK = 2;

type Kind = 'u8' | 'u16' | 'u32' | 'f16' | 'f32' | 'f64';

interface Head {
  readonly version: number;
  readonly width: number;
  readonly height: number;
  readonly kind: Kind;
  /** Linear light. */
  readonly linear: boolean;
  /** Where the properties begin. */
  readonly at: number;
}

const BYTES: Readonly<Record<Kind, number>> = { u8: 1, u16: 2, u32: 4, f16: 2, f32: 4, f64: 8 };
/** By hundreds of the precision; version 4 counts from 0, versions 5 and 6 have no doubles. */
const KINDS: readonly (Kind | undefined)[] = [undefined, 'u8', 'u16', 'u32', undefined, 'f16', 'f32', 'f64'];
const KINDS_5: readonly (Kind | undefined)[] = [undefined, 'u8', 'u16', 'u32', 'f16', 'f32'];
const KINDS_4: readonly Kind[] = ['u8', 'u16', 'u32', 'f16', 'f32'];

/** @throws FileRefused */
export function canvasOf(bytes: Buffer): Head {
  const version = bytes.toString('latin1', 9, 13) === 'file' ? 0 : Number(bytes.toString('latin1', 10, 13));
  if (bytes.length < 40 || !Number.isInteger(version)) throw new FileRefused('corrupt_input');
  const [width, height] = [bytes.readUInt32BE(14), bytes.readUInt32BE(18)];
  if (width === 0 || height === 0) throw new FileRefused('corrupt_input');
  if (version < 4) return { version, width, height, kind: 'u8', linear: false, at: 26 };
  const precision = bytes.readUInt32BE(26);
  const kind = version === 4 ? KINDS_4[precision] : (version < 7 ? KINDS_5 : KINDS)[Math.floor(precision / 100)];
  if (kind === undefined) throw new FileRefused('unsupported_variant', `XCF files of the precision ${precision} are not converted.`);
  return { version, width, height, kind, linear: version === 4 ? precision > 1 : precision % 100 === 0, at: 30 };
}

interface Layer {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly top: number;
  /** 0 to 1. */
  readonly opacity: number;
  readonly mode: number;
  readonly kind: number;
  readonly tiles: number;
  /** Where the tiles of its mask are listed; 0: none. */
  readonly mask: number;
}

/** How a layer's colour changes that below it, from 0 to 1. The older modes count from 0, and are those of values as they are shown. */
const OVERLAY = (below: number, above: number): number => (below < 0.5 ? 2 * below * above : 1 - 2 * (1 - below) * (1 - above));
const BLENDS: Readonly<Record<number, (below: number, above: number) => number>> = {
  3: (below, above) => below * above,
  4: (below, above) => 1 - (1 - below) * (1 - above),
  5: OVERLAY,
  6: (below, above) => Math.abs(below - above),
  7: (below, above) => Math.min(1, below + above),
  8: (below, above) => Math.max(0, below - above),
  9: Math.min,
  10: Math.max,
};
const OF_TODAY: Readonly<Record<number, number>> = { 23: 5, 30: 3, 31: 4, 32: 6, 33: 7, 34: 8, 35: 9, 36: 10 };
const NORMAL: ReadonlySet<number> = new Set([0, 28]);
/** Modes that work on linear light. */
const isLinear = (mode: number): boolean => mode >= 28;

/** @throws FileRefused */
export function decodeXcf(bytes: Buffer): Raster {
  const head = canvasOf(bytes);
  const reader = new Reader(bytes, head);
  const layers = reader.layers();
  const pixels = layers.reduce((sum, { width, height }) => sum + width * height, 0);
  if (pixels > MOST_PIXELS) throw beyond('pixels of all layers', MOST_PIXELS, pixels);
  const count = head.width * head.height * 4;
  const canvas = new Uint16Array(count);
  for (const layer of layers.toReversed()) reader.draw(layer, canvas);
  const plain = layers.some(({ mode }) => !NORMAL.has(mode) && BLENDS[OF_TODAY[mode] ?? mode] === undefined);
  const samples = head.kind === 'u8' ? Uint8Array.from(canvas, (value) => Math.round(value / 257)) : canvas;
  const { width, height } = head;
  return { width, height, channels: 4, samples, profile: reader.profile, ...(plain && { warnings: lossy([BLENDED]) }) };
}

class Reader {
  profile: Buffer | undefined;
  private compression = 0;
  private propertiesRead = 0;
  private palette: Buffer = Buffer.alloc(0);
  private readonly bytes: Buffer;
  private readonly head: Head;

  constructor(bytes: Buffer, head: Head) {
    this.bytes = bytes;
    this.head = head;
  }

  /** From the top. Those of hidden groups are left out, and groups themselves: their layers are listed as well. */
  layers(): Layer[] {
    let at = this.properties(this.head.at, (type, content) => {
      if (type === COMPRESSION) this.compression = content[0] ?? 0;
      else if (type === COLOURS) this.palette = content.subarray(4);
      else if (type === PARASITES) this.profile = this.head.linear ? undefined : profileAmong(content);
    });
    const found: Layer[] = [];
    const hidden: string[] = [];
    const opacities = new Map<string, number>();
    // Hidden ones count: several may lie in one place of the file.
    for (let count = 0; ; at += this.wide, count++) {
      const place = this.pointer(at);
      if (place === 0) return found;
      if (count > MOST_LAYERS) throw beyond('layers', MOST_LAYERS);
      const [width, height, kind] = [0, 4, 8].map((by) => this.bytes.readUInt32BE(place + by)) as [number, number, number];
      let [opacity, mode, visible, masked, left, top, group, path] = [1, 0, true, true, 0, 0, false, ''];
      const end = this.properties(place + 16 + this.bytes.readUInt32BE(place + 12), (type, content) => {
        if (type === OPACITY) opacity = content.readUInt32BE(0) / 255;
        else if (type === OPACITY_FLOAT) opacity = content.readFloatBE(0);
        else if (type === MODE) mode = content.readUInt32BE(0);
        else if (type === VISIBLE) visible = content.readUInt32BE(0) !== 0;
        else if (type === APPLY_MASK) masked = content.readUInt32BE(0) !== 0;
        else if (type === OFFSETS) [left, top] = [content.readInt32BE(0), content.readInt32BE(4)];
        else if (type === GROUP) group = true;
        else if (type === PATH) path = pathOf(content);
      });
      const parents = [...opacities].filter(([of]) => path.length > of.length && path.startsWith(of));
      if (parents.some(([of]) => hidden.includes(of))) visible = false;
      if (group) {
        opacities.set(path, opacity);
        if (!visible) hidden.push(path);
      } else if (visible) {
        const mask = masked ? this.pointer(end + this.wide) : 0;
        found.push({
          ...{ width, height, left, top, mode, kind },
          opacity: parents.reduce((product, [, of]) => product * of, opacity),
          tiles: this.level(this.pointer(end)),
          mask: mask === 0 ? 0 : this.level(this.pointer(this.properties(mask + 12 + this.bytes.readUInt32BE(mask + 8), () => {}))),
        });
      }
    }
  }

  /** Lays a layer on the canvas, tile by tile. */
  draw({ width, height, left, top, opacity, mode, kind, tiles, mask }: Layer, canvas: Uint16Array): void {
    const { head } = this;
    const channels = [3, 4, 1, 2, 1, 2][kind];
    if (channels === undefined) throw new FileRefused('corrupt_input');
    const [wide, indexed] = [BYTES[head.kind], kind > 3];
    const opaque = channels % 2 === 1;
    const blend = NORMAL.has(mode) ? undefined : BLENDS[OF_TODAY[mode] ?? mode];
    const linear = isLinear(mode);
    const across = Math.ceil(width / TILE);
    for (let tile = 0; tile < across * Math.ceil(height / TILE); tile++) {
      const [x0, y0] = [(tile % across) * TILE, Math.floor(tile / across) * TILE];
      const [w, h] = [Math.min(TILE, width - x0), Math.min(TILE, height - y0)];
      const pixels = this.tile(tiles + tile * this.wide, w * h, channels * wide);
      const cover = mask === 0 ? undefined : this.tile(mask + tile * this.wide, w * h, wide);
      for (let pixel = 0; pixel < w * h; pixel++) {
        const [x, y] = [left + x0 + (pixel % w), top + y0 + Math.floor(pixel / w)];
        if (x < 0 || y < 0 || x >= head.width || y >= head.height) continue;
        const at = pixel * channels * wide;
        let alpha = opacity * (opaque ? 1 : this.amount(pixels, at + (channels - 1) * wide));
        if (cover !== undefined) alpha *= this.amount(cover, pixel * wide);
        if (alpha <= 0) continue;
        const to = (y * head.width + x) * 4;
        const under = (canvas[to + 3] as number) / 65_535;
        const over = alpha + under * (1 - alpha);
        for (let channel = 0; channel < 3; channel++) {
          const above = indexed
            ? (this.palette[(pixels[at] as number) * 3 + channel] ?? 0) * 257
            : this.shown(pixels, at + (channels < 3 ? 0 : channel * wide));
          if (alpha >= 1 && blend === undefined) {
            canvas[to + channel] = above;
            continue;
          }
          const [b, a] = [canvas[to + channel] as number, above].map((value) => (linear ? light(value) : value / 65_535)) as [
            number,
            number,
          ];
          const mixed = blend === undefined ? a : under * blend(b, a) + (1 - under) * a;
          const result = (mixed * alpha + b * under * (1 - alpha)) / over;
          canvas[to + channel] = linear ? encoded(result) : level(result);
        }
        canvas[to + 3] = Math.round(over * 65_535);
      }
    }
  }

  /** A sample as it is shown, 0 to 65,535. */
  private shown(bytes: Buffer, at: number): number {
    const value = numberOf(this.head, bytes, at);
    return this.head.linear ? encoded(value) : level(value);
  }

  /** Opacity is linear in any case. */
  private amount(bytes: Buffer, at: number): number {
    return Math.max(0, Math.min(1, numberOf(this.head, bytes, at) || 0));
  }

  private tile(listed: number, pixels: number, size: number): Buffer {
    const from = this.pointer(listed);
    const length = pixels * size;
    if (this.compression === 0) return whole(this.bytes.subarray(from, from + length), length);
    if (this.compression === 2) {
      const packed = this.bytes.subarray(from, from + SLACK * length + 1024);
      return whole(inflateSync(packed, { maxOutputLength: length }), length);
    }
    return this.runs(from, pixels, size);
  }

  /** Byte by byte of the pixels, each in runs. */
  private runs(from: number, pixels: number, size: number): Buffer {
    const result = Buffer.alloc(pixels * size);
    let at = from;
    const next = (): number => this.bytes.readUInt8(at++);
    for (let byte = 0; byte < size; byte++)
      for (let pixel = 0; pixel < pixels; ) {
        const told = next();
        const same = told < 128;
        let length = same ? told + 1 : 256 - told;
        if (told === 127 || told === 128) length = next() * 256 + next();
        if (length === 0 || pixel + length > pixels) throw new FileRefused('corrupt_input');
        const value = same ? next() : 0;
        for (; length > 0; length--) result[pixel++ * size + byte] = same ? value : next();
      }
    return result;
  }

  /** @returns where the tiles of a hierarchy's first level are listed */
  private level(hierarchy: number): number {
    return this.pointer(hierarchy + 12) + 8;
  }

  private get wide(): number {
    return this.head.version < 11 ? 4 : 8;
  }

  /** @throws FileRefused where it lies outside the file */
  private pointer(at: number): number {
    const place = this.wide === 4 ? this.bytes.readUInt32BE(at) : Number(this.bytes.readBigUInt64BE(at));
    if (place >= this.bytes.length) throw new FileRefused('corrupt_input');
    return place;
  }

  /** @returns where what follows them begins */
  private properties(from: number, each: (type: number, content: Buffer) => void): number {
    for (let at = from; ; ) {
      const [type, length] = [this.bytes.readUInt32BE(at), this.bytes.readUInt32BE(at + 4)];
      at += 8;
      if (type === END) return at;
      if (++this.propertiesRead > MOST_PROPERTIES) throw beyond('properties of layers', MOST_PROPERTIES);
      // Old versions tell a wrong length of the palette.
      const size = type === COLOURS ? 4 + 3 * this.bytes.readUInt32BE(at) : length;
      each(type, this.bytes.subarray(at, at + size));
      at += size;
    }
  }
}

/** @throws FileRefused */
function pathOf(content: Buffer): string {
  if (content.length > MOST_PATH) throw beyond('groups within one another', MOST_PATH / 4, Math.floor(content.length / 4));
  return content.toString('hex');
}

const whole = (bytes: Buffer, length: number): Buffer => {
  if (bytes.length < length) throw new FileRefused('corrupt_input');
  return bytes;
};

/** Name, flags and content, one behind the other. */
function profileAmong(list: Buffer): Buffer | undefined {
  for (let at = 0; at + 12 <= list.length; ) {
    const name = 4 + list.readUInt32BE(at);
    if (at + name + 8 > list.length) return undefined;
    const size = list.readUInt32BE(at + name + 4);
    if (list.toString('latin1', at + 4, at + name - 1) === 'icc-profile') return list.subarray(at + name + 8, at + name + 8 + size);
    at += name + 8 + size;
  }
  return undefined;
}

/** From 0 to 1, as it stands there. Before version 12, numbers of several bytes are those of the machine that wrote them: from the lowest byte. */
function numberOf({ kind, version }: Head, bytes: Buffer, at: number): number {
  const little = version < 12;
  switch (kind) {
    case 'u8':
      return bytes.readUInt8(at) / 255;
    case 'u16':
      return (little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at)) / 65_535;
    case 'u32':
      return (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)) / 4_294_967_295;
    case 'f16':
      return ofHalf(little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
    case 'f32':
      return little ? bytes.readFloatLE(at) : bytes.readFloatBE(at);
    case 'f64':
      return little ? bytes.readDoubleLE(at) : bytes.readDoubleBE(at);
  }
}
