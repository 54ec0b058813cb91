/**
 * Reads the first surface of a DirectDraw file: blocks (BC1 to BC7), pixels with masks, and numbers of 16 and 32 bits
 * (Microsoft, "Programming Guide for DDS", `DDS_HEADER`, `DDS_HEADER_DXT10`, `DXGI_FORMAT`).
 */
import { FileRefused } from '../../data/values/value.ts';
import type { Raster } from '../formats/png.ts';
import { type BlockDecoder, bc1, bc2, bc3, bc4, bc5 } from './blocks.ts';
import { encoded, level, ofHalf } from './light.ts';
import { bc6h, bc7 } from './partitioned.ts';

/** How pixels are stored. */
type Layout =
  | { readonly kind: 'blocks'; readonly bytes: 8 | 16; readonly decode: BlockDecoder<Uint8Array> }
  | { readonly kind: 'float blocks'; readonly decode: BlockDecoder<Uint16Array> }
  /** Bits of red, green, blue and opacity in a number of up to 32; grey has one mask for all three. */
  | { readonly kind: 'masks'; readonly bits: number; readonly masks: readonly [number, number, number, number] }
  /** A number for each channel. */
  | { readonly kind: 'numbers'; readonly channels: 1 | 2 | 3 | 4; readonly type: 'u16' | 'f16' | 'f32' };

interface Surface {
  readonly width: number;
  readonly height: number;
  /** Where its pixels begin, bytes. */
  readonly from: number;
  readonly layout: Layout;
  readonly alpha: 'straight' | 'premultiplied' | 'none';
}

/** Beside the signature; DX10 adds 20. */
const HEADER_BYTES = 128;

const BC1: Layout = { kind: 'blocks', bytes: 8, decode: bc1 };
const BC2: Layout = { kind: 'blocks', bytes: 16, decode: bc2 };
const BC3: Layout = { kind: 'blocks', bytes: 16, decode: bc3 };
const BC4: Layout = { kind: 'blocks', bytes: 8, decode: bc4(false) };
const BC4_SIGNED: Layout = { kind: 'blocks', bytes: 8, decode: bc4(true) };
const BC5: Layout = { kind: 'blocks', bytes: 16, decode: bc5(false) };
const BC5_SIGNED: Layout = { kind: 'blocks', bytes: 16, decode: bc5(true) };
const BC7: Layout = { kind: 'blocks', bytes: 16, decode: bc7 };
const BC6H: Layout = { kind: 'float blocks', decode: bc6h(false) };
const BC6H_SIGNED: Layout = { kind: 'float blocks', decode: bc6h(true) };

const numbers = (channels: 1 | 2 | 3 | 4, type: 'u16' | 'f16' | 'f32'): Layout => ({ kind: 'numbers', channels, type });
const masks = (bits: number, ...of: readonly [number, number, number, number]): Layout => ({ kind: 'masks', bits, masks: of });

const FOUR_CC: Readonly<Record<string, Layout>> = {
  DXT1: BC1,
  DXT2: BC2,
  DXT3: BC2,
  DXT4: BC3,
  DXT5: BC3,
  ATI1: BC4,
  BC4U: BC4,
  BC4S: BC4_SIGNED,
  ATI2: BC5,
  BC5U: BC5,
  BC5S: BC5_SIGNED,
  // Numbers of `D3DFORMAT`.
  '\x24\0\0\0': numbers(4, 'u16'),
  '\x6f\0\0\0': numbers(1, 'f16'),
  '\x70\0\0\0': numbers(2, 'f16'),
  '\x71\0\0\0': numbers(4, 'f16'),
  '\x72\0\0\0': numbers(1, 'f32'),
  '\x73\0\0\0': numbers(2, 'f32'),
  '\x74\0\0\0': numbers(4, 'f32'),
};
const PREMULTIPLIED = new Set(['DXT2', 'DXT4']);

/** `DXGI_FORMAT`: those without a type, of plain values and of sRGB hold the same. */
const DXGI: readonly (readonly [formats: readonly number[], layout: Layout])[] = [
  [[2], numbers(4, 'f32')],
  [[6], numbers(3, 'f32')],
  [[10], numbers(4, 'f16')],
  [[11], numbers(4, 'u16')],
  [[16], numbers(2, 'f32')],
  [[24], masks(32, 0x3ff, 0xffc00, 0x3ff00000, 0xc0000000)],
  [[27, 28, 29], masks(32, 0xff, 0xff00, 0xff0000, 0xff000000)],
  [[34], numbers(2, 'f16')],
  [[35], numbers(2, 'u16')],
  [[41], numbers(1, 'f32')],
  [[49], masks(16, 0xff, 0xff00, 0, 0)],
  [[54], numbers(1, 'f16')],
  [[56], numbers(1, 'u16')],
  [[61], masks(8, 0xff, 0xff, 0xff, 0)],
  [[65], masks(8, 0, 0, 0, 0xff)],
  [[70, 71, 72], BC1],
  [[73, 74, 75], BC2],
  [[76, 77, 78], BC3],
  [[79, 80], BC4],
  [[81], BC4_SIGNED],
  [[82, 83], BC5],
  [[84], BC5_SIGNED],
  [[85], masks(16, 0xf800, 0x7e0, 0x1f, 0)],
  [[86], masks(16, 0x7c00, 0x3e0, 0x1f, 0x8000)],
  [[87, 90, 91], masks(32, 0xff0000, 0xff00, 0xff, 0xff000000)],
  [[88, 92, 93], masks(32, 0xff0000, 0xff00, 0xff, 0)],
  [[94, 95], BC6H],
  [[96], BC6H_SIGNED],
  [[97, 98, 99], BC7],
  [[115], masks(16, 0xf00, 0xf0, 0xf, 0xf000)],
];

/** Flags of `DDS_PIXELFORMAT`. */
const [ALPHA_PIXELS, ALPHA_ONLY, HAS_FOUR_CC, COLOURS, LUMINANCE] = [0x1, 0x2, 0x4, 0x40, 0x20000];

/** @throws FileRefused for what is no such file, or a kind of pixels that is not read here */
export function surfaceOf(bytes: Buffer): Surface {
  if (bytes.length < HEADER_BYTES) throw new FileRefused('corrupt_input');
  const [height, width] = [bytes.readUInt32LE(12), bytes.readUInt32LE(16)];
  if (width === 0 || height === 0) throw new FileRefused('corrupt_input');
  const flags = bytes.readUInt32LE(80);
  const fourCC = bytes.toString('latin1', 84, 88);
  const size = { width, height, from: HEADER_BYTES };
  if ((flags & HAS_FOUR_CC) !== 0) {
    if (fourCC === 'DX10') return extended(bytes, size);
    const layout = FOUR_CC[fourCC];
    if (layout === undefined) throw unread(/^[ -~]{4}$/.test(fourCC) ? fourCC : String(bytes.readUInt32LE(84)));
    return { ...size, layout, alpha: PREMULTIPLIED.has(fourCC) ? 'premultiplied' : 'straight' };
  }
  const bits = bytes.readUInt32LE(88);
  const [red = 0, green = 0, blue = 0, opacity = 0] = [92, 96, 100, 104].map((at) => bytes.readUInt32LE(at));
  const known = (flags & (COLOURS | LUMINANCE | ALPHA_ONLY)) !== 0 && [8, 16, 24, 32].includes(bits);
  if (!known) throw unread('an old kind');
  const grey = (flags & LUMINANCE) !== 0;
  const alpha = (flags & (ALPHA_PIXELS | ALPHA_ONLY)) !== 0 ? opacity : 0;
  const layout = masks(bits, red, grey ? red : green, grey ? red : blue, alpha);
  return { ...size, layout, alpha: alpha === 0 ? 'none' : 'straight' };
}

/** DX10: another header says the format, and what its fourth channel means. */
function extended(bytes: Buffer, size: Pick<Surface, 'width' | 'height' | 'from'>): Surface {
  if (bytes.length < HEADER_BYTES + 20) throw new FileRefused('corrupt_input');
  const format = bytes.readUInt32LE(HEADER_BYTES);
  const layout = DXGI.find(([formats]) => formats.includes(format))?.[1];
  if (layout === undefined) throw unread(`DXGI ${format}`);
  const mode = bytes.readUInt32LE(HEADER_BYTES + 16) & 7;
  return { ...size, from: HEADER_BYTES + 20, layout, alpha: mode === 2 ? 'premultiplied' : mode === 3 ? 'none' : 'straight' };
}

const unread = (kind: string): FileRefused =>
  new FileRefused('unsupported_variant', `DDS files with pixels of the kind ${kind} are not converted.`);

/** @throws FileRefused where pixels are missing */
export function decodeDds(bytes: Buffer): Raster {
  const surface = surfaceOf(bytes);
  const { width, height, from, layout } = surface;
  if (bytes.length < from + bytesOf(surface)) throw new FileRefused('corrupt_input');
  const count = width * height * 4;
  switch (layout.kind) {
    case 'blocks':
      return finished(surface, inBlocks(bytes, surface, layout.bytes, new Uint8Array(count), new Uint8Array(64), layout.decode));
    case 'float blocks': {
      const samples = inBlocks(bytes, surface, 16, new Uint16Array(count), new Uint16Array(64), layout.decode);
      return finished(surface, shown(samples));
    }
    case 'masks':
      return finished(surface, byMasks(bytes, surface, layout));
    case 'numbers':
      return finished(surface, byNumbers(bytes, surface, layout));
  }
}

function bytesOf({ width, height, layout }: Surface): number {
  switch (layout.kind) {
    case 'blocks':
      return Math.ceil(width / 4) * Math.ceil(height / 4) * layout.bytes;
    case 'float blocks':
      return Math.ceil(width / 4) * Math.ceil(height / 4) * 16;
    case 'masks':
      return (width * height * layout.bits) / 8;
    case 'numbers':
      return width * height * layout.channels * (layout.type === 'f32' ? 4 : 2);
  }
}

function inBlocks<Pixels extends Uint8Array | Uint16Array>(
  bytes: Buffer,
  { width, height, from }: Surface,
  size: number,
  samples: Pixels,
  pixels: Pixels,
  decode: BlockDecoder<Pixels>,
): Pixels {
  let at = from;
  for (let top = 0; top < height; top += 4)
    for (let left = 0; left < width; left += 4, at += size) {
      decode(bytes, at, pixels);
      const wide = Math.min(4, width - left) * 4;
      for (let y = 0; y < Math.min(4, height - top); y++) {
        const to = ((top + y) * width + left) * 4;
        for (let x = 0; x < wide; x++) samples[to + x] = pixels[y * 16 + x] as number;
      }
    }
  return samples;
}

/** Into 8 bits, or 16 where a channel has more. */
function byMasks(bytes: Buffer, { width, height, from }: Surface, { bits, masks: of }: Extract<Layout, { kind: 'masks' }>) {
  const channels = of.map((mask) => {
    const shift = mask === 0 ? 0 : 31 - Math.clz32(mask & -mask);
    return { mask, shift, most: mask >>> shift };
  });
  const deep = channels.some(({ most }) => most > 255);
  const full = deep ? 65_535 : 255;
  const samples = deep ? new Uint16Array(width * height * 4) : new Uint8Array(width * height * 4);
  const size = bits / 8;
  for (let pixel = 0, at = from; pixel < width * height; pixel++, at += size) {
    let packed = 0;
    for (let byte = 0; byte < size; byte++) packed |= (bytes[at + byte] as number) << (8 * byte);
    for (const [channel, { mask, shift, most }] of channels.entries())
      samples[pixel * 4 + channel] = mask === 0 ? (channel === 3 ? full : 0) : Math.round((((packed & mask) >>> shift) * full) / most);
  }
  return samples;
}

/** Floats are linear light. */
function byNumbers(bytes: Buffer, { width, height, from }: Surface, { channels, type }: Extract<Layout, { kind: 'numbers' }>) {
  const samples = new Uint16Array(width * height * 4);
  const size = type === 'f32' ? 4 : 2;
  const curve = type === 'f16' ? halves() : undefined;
  for (let pixel = 0, at = from; pixel < width * height; pixel++, at += channels * size)
    for (let channel = 0; channel < 4; channel++) {
      // One is grey.
      const which = channels === 1 && channel < 3 ? 0 : channel;
      const place = at + which * size;
      let value = channel === 3 ? 65_535 : 0;
      if (which < channels) {
        if (type === 'u16') value = bytes.readUInt16LE(place);
        else if (channel === 3) value = level(type === 'f32' ? bytes.readFloatLE(place) : ofHalf(bytes.readUInt16LE(place)));
        else value = curve === undefined ? encoded(bytes.readFloatLE(place)) : (curve[bytes.readUInt16LE(place)] as number);
      }
      samples[pixel * 4 + channel] = value;
    }
  return samples;
}

const halves = (): Uint16Array => Uint16Array.from({ length: 65_536 }, (_, bits) => encoded(ofHalf(bits)));

/** Opaque pixels of floats. */
function shown(samples: Uint16Array): Uint16Array {
  const curve = halves();
  for (let at = 0; at < samples.length; at++) samples[at] = (at & 3) === 3 ? 65_535 : (curve[samples[at] as number] as number);
  return samples;
}

function finished({ width, height, alpha }: Surface, samples: Uint8Array | Uint16Array): Raster {
  const most = samples instanceof Uint8Array ? 255 : 65_535;
  for (let at = 3; at < samples.length; at += 4) {
    const opacity = samples[at] as number;
    if (alpha === 'none') samples[at] = most;
    else if (alpha === 'premultiplied' && opacity > 0 && opacity < most)
      for (let channel = at - 3; channel < at; channel++)
        samples[channel] = Math.min(most, Math.round(((samples[channel] as number) * most) / opacity));
  }
  return { width, height, channels: 4, samples };
}
