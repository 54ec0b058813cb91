/** Headers of raster images whose signature is too short, or could be text: what follows it must be plausible. */
import { asBuffer, has, latin1, u8, u16be, u16le, u32be, u32le } from './bytes.ts';
import type { Sample } from './sample.ts';

export const isJpeg = (sample: Sample): boolean => has(sample.head, 0, '\xff\xd8\xff') && !isJpegLs(sample);

/** Segments before the one that tells the size, such as those of cameras and programs. */
const MOST_SEGMENTS = 200;

/** A JPEG but for its frame (ITU-T T.87, C.2.2): what both have before that may be long. */
export function isJpegLs({ head }: Sample): boolean {
  if (!has(head, 0, '\xff\xd8\xff')) return false;
  for (let at = 2, segment = 0; u8(head, at) === 0xff && segment < MOST_SEGMENTS; segment++) {
    const marker = u8(head, at + 1);
    if (marker === 0xf7) return true;
    // Any other frame, or a scan.
    if ((marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4) || marker === 0xda) return false;
    at += marker === 0xff ? 1 : 2 + u16be(head, at + 2);
  }
  return false;
}

const PNG = '\x89PNG\r\n\x1a\n';
/** Chunks before the pixels: profiles, EXIF, texts. */
const MOST_CHUNKS = 200;

export const isPng = (sample: Sample): boolean => has(sample.head, 0, PNG) && !isApng(sample);

/** A PNG with a chunk that counts more than one frame (PNG 3, 11.3.6.1), which is before the pixels. */
export function isApng({ head }: Sample): boolean {
  if (!has(head, 0, PNG)) return false;
  for (let at = 8, chunk = 0; at + 12 <= head.length && chunk < MOST_CHUNKS; chunk++) {
    if (has(head, at + 4, 'acTL')) return u32be(head, at + 8) > 1;
    if (has(head, at + 4, 'IDAT')) return false;
    at += 12 + u32be(head, at);
  }
  return false;
}

/** ISO 15444-1: the JP2 signature box with the brand of a still image. */
export const isJpeg2000 = ({ head }: Sample): boolean => has(head, 0, '\0\0\0\x0cjP  \r\n\x87\n') && !has(head, 20, 'mjp2');

/** A raw code stream: two bytes, and a size header that text cannot have. */
export const isJxlStream = ({ head, size }: Sample): boolean =>
  has(head, 0, '\xff\x0a') && size >= 12 && !isPrintable(head.subarray(2, 12));

export const isXcf = ({ head }: Sample): boolean => has(head, 0, 'gimp xcf ') && u8(head, 13) === 0;
export const isFits = ({ head }: Sample): boolean => /^SIMPLE {2}= {0,20}T/.test(latin1(head, 0, 32));
export const isXpm = ({ head }: Sample): boolean => /^\s{0,8}(?:\/\* XPM \*\/|! XPM2)/.test(latin1(head, 0, 24));
export const isSgi = ({ head }: Sample): boolean =>
  has(head, 0, '\x01\xda') && u8(head, 2) <= 1 && [1, 2].includes(u8(head, 3)) && between(u16be(head, 4), 1, 3);

/** QuickDraw: 512 bytes that readers skip, a frame, and the version. */
export const isPict = ({ head }: Sample): boolean =>
  has(head, 522, '\0\x11\x02\xff') || (has(head, 522, '\x11\x01') && isBlank(head.subarray(0, 512)));

/** Text may begin with "BM" too, so the size of the second header is checked (Windows and OS/2 versions). */
export const isBmp = ({ head }: Sample): boolean => has(head, 0, 'BM') && [12, 16, 40, 52, 56, 64, 108, 124].includes(u32le(head, 14));

export const isIcon = (sample: Sample): boolean => hasIcons(sample, 1);
export const isCursor = (sample: Sample): boolean => hasIcons(sample, 2);

function hasIcons({ head, size }: Sample, type: 1 | 2): boolean {
  if (u16le(head, 0) !== 0 || u16le(head, 2) !== type) return false;
  const count = u16le(head, 4);
  const at = u32le(head, 18);
  return count >= 1 && [0, 0xff].includes(u8(head, 9)) && u32le(head, 14) > 0 && at >= 6 + 16 * count && at < size;
}

/** ZSoft's technical reference: version, encoding, bits, a window with positive sides, and a reserved zero. */
export function isPcx({ head }: Sample): boolean {
  if (u8(head, 0) !== 0x0a || ![0, 2, 3, 4, 5].includes(u8(head, 1)) || u8(head, 2) > 1 || ![1, 2, 4, 8].includes(u8(head, 3)))
    return false;
  return u16le(head, 8) >= u16le(head, 4) && u16le(head, 10) >= u16le(head, 6) && u8(head, 64) === 0 && between(u8(head, 65), 1, 4);
}

export const isBitmap = (sample: Sample): boolean => isPortableMap(sample, '14');
export const isGraymap = (sample: Sample): boolean => isPortableMap(sample, '25');
export const isPixmap = (sample: Sample): boolean => isPortableMap(sample, '36');
export const isArbitraryMap = ({ head }: Sample): boolean =>
  /^P7\s{0,4}\n(?:#|WIDTH|HEIGHT|DEPTH|MAXVAL|TUPLTYPE)/.test(latin1(head, 0, 32));

/** Netpbm: the magic number could be text, so numbers must follow (netpbm's pbm(5), pgm(5), ppm(5)). @param kinds plain and raw */
function isPortableMap({ head }: Sample, kinds: string): boolean {
  const kind = latin1(head, 1, 1);
  if (u8(head, 0) !== 0x50 || kind === '' || !kinds.includes(kind)) return false;
  // Comments run to the end of their line; long runs of them are not followed.
  const header = latin1(head, 2, 4096).replace(/#[^\r\n]*/g, ' ');
  return /^\s+\d{1,9}\s+\d{1,9}(?:\s|$)/.test(header);
}

/** Portable float map: numbers must follow its mark, and the scale, whose sign is the order of the bytes. */
export const isPfm = ({ head }: Sample): boolean => /^P[Ff]\s{1,4}\d{1,6}\s{1,4}\d{1,6}\s{1,4}-?\d/.test(latin1(head, 0, 64));

/** ITU-T T.82, 6.2: layers, one plane, and sides that a page has. Icons may begin alike, and are looked for before; a resource fork has zeros for MX, MY and the order. */
export const isJbig = ({ head, size }: Sample): boolean =>
  u8(head, 0) <= u8(head, 1) &&
  u8(head, 1) <= 10 &&
  has(head, 2, '\x01\0') &&
  size > 20 &&
  [4, 8, 12].every((at) => between(u32be(head, at), 1, 0xffff)) &&
  u32be(head, 12) <= u32be(head, 8) &&
  u32be(head, 16) !== 0 &&
  u8(head, 18) <= 15;

/** X11's XWDFile.h: size of the header, version 7, and a known format. */
export const isXwd = ({ head }: Sample): boolean => between(u32be(head, 0), 100, 1000) && u32be(head, 4) === 7 && u32be(head, 8) <= 2;

/** WAP-237, 4.4: type 0 without extensions, and sides in groups of seven bits. */
export function isWbmp({ head, size }: Sample): boolean {
  if (u16be(head, 0) !== 0) return false;
  let at = 2;
  const sides = [0, 0].map(() => {
    let value = 0;
    for (let bytes = 0; bytes < 3; bytes++) {
      const byte = u8(head, at++);
      value = value * 128 + (byte & 127);
      if (!(byte & 128)) return value;
    }
    return Number.NaN;
  });
  return fills(size, at, Math.ceil((sides[0] ?? 0) / 8), sides[1] ?? 0);
}

export const isAai = ({ head, size }: Sample): boolean => fills(size, 8, u32le(head, 0) * 4, u32le(head, 4));
export const isAvs = ({ head, size }: Sample): boolean => fills(size, 8, u32be(head, 0) * 4, u32be(head, 4));
/** PFS: rows of whole words. */
export const isArt = ({ head, size }: Sample): boolean =>
  u16le(head, 0) === 0 && u16le(head, 4) === 0 && fills(size, 8, Math.ceil(u16le(head, 2) / 16) * 2, u16le(head, 6));

export function isMtv({ head, size }: Sample): boolean {
  const [header, width, height] = /^(\d{1,5}) (\d{1,5})\n/.exec(latin1(head, 0, 16)) ?? [];
  return header !== undefined && fills(size, header.length, Number(width) * 3, Number(height));
}

/** Group 3: the end of a line in front of the first, and six of them behind the last (ITU-T T.4, 4.1). */
export function isFax({ head, tail }: Sample): boolean {
  if (u8(head, 0) !== 0 || u8(head, 1) >> 4 !== 1) return false;
  const bits = [...tail.subarray(-16)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.includes('000000000001'.repeat(6));
}

/** Place, size, flags, channels and bits of a channel (Utah Raster Toolkit, rle(5)). */
export const isUtahRle = ({ head }: Sample): boolean =>
  has(head, 0, '\x52\xcc') && u16le(head, 6) > 0 && u16le(head, 8) > 0 && between(u8(head, 11), 1, 4) && u8(head, 12) === 8;

/** A picture of the window manager MGR: width and height in two printable characters each, then rows of whole bytes. */
export function isMgr({ head, size }: Sample): boolean {
  if (!has(head, 0, 'yz') || size < 8) return false;
  const [width = 0, height = 0] = [2, 4].map((at) => (u8(head, at) - 32) * 64 + u8(head, at + 1) - 32);
  return fills(size, 8, Math.ceil(width / 8), height);
}

/** Whether rows of so many bytes behind a header make up the whole file. */
const fills = (size: number, header: number, rowBytes: number, rows: number): boolean =>
  rowBytes > 0 && rows > 0 && size === header + rowBytes * rows;

const between = (value: number, low: number, high: number): boolean => value >= low && value <= high;
const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);
const isPrintable = (bytes: Uint8Array): boolean => /^[\t\n\r -~]*$/.test(asBuffer(bytes).toString('latin1'));
