/** Raster images, by their signatures and, if a signature is short, by a plausible header. */
import { asBuffer, has, latin1, u8, u16be, u16le, u32le } from './bytes.ts';
import type { Detected, Sample } from './sample.ts';
import { format, UNKNOWN } from './verdict.ts';

type Look = (head: Uint8Array, size: number) => boolean;

const begins =
  (signature: string): Look =>
  (head) =>
    has(head, 0, signature);

/** Checked in order; long signatures before short ones. */
const LOOKS: readonly (readonly [string, Look])[] = [
  ['png', begins('\x89PNG\r\n\x1a\n')],
  ['jpg', begins('\xff\xd8\xff')],
  ['gif', (head) => has(head, 0, 'GIF87a') || has(head, 0, 'GIF89a')],
  ['webp', (head) => has(head, 0, 'RIFF') && has(head, 8, 'WEBP')],
  ['jp2', (head) => isJpeg2000(head)],
  ['jxl', begins('\0\0\0\x0cJXL \r\n\x87\n')],
  ['psd', (head) => has(head, 0, '8BPS\0\x01') || has(head, 0, '8BPS\0\x02')],
  ['xcf', (head) => has(head, 0, 'gimp xcf ') && u8(head, 13) === 0],
  ['exr', begins('\x76\x2f\x31\x01')],
  ['dds', (head) => has(head, 0, 'DDS ') && u32le(head, 4) === 124],
  ['hdr', (head) => has(head, 0, '#?RADIANCE') || has(head, 0, '#?RGBE')],
  ['dpx', (head) => has(head, 0, 'SDPX') || has(head, 0, 'XPDS')],
  ['fits', (head) => /^SIMPLE {2}= {0,20}T/.test(latin1(head, 0, 32))],
  ['ras', begins('\x59\xa6\x6a\x95')],
  ['sgi', (head) => has(head, 0, '\x01\xda') && u8(head, 2) <= 1 && [1, 2].includes(u8(head, 3)) && between(u16be(head, 4), 1, 3)],
  ['tiff', (head) => isTiff(head)],
  ['bmp', (head) => isBmp(head)],
  ['ico', (head, size) => isIcon(head, size, 1)],
  ['cur', (head, size) => isIcon(head, size, 2)],
  ['pcx', (head) => isPcx(head)],
  ['pict', (head) => has(head, 522, '\0\x11\x02\xff') || (has(head, 522, '\x11\x01') && isBlank(head.subarray(0, 512)))],
  // A raw code stream: two bytes, and a size header that text cannot have.
  ['jxl', (head, size) => has(head, 0, '\xff\x0a') && size >= 12 && !isPrintable(head.subarray(2, 12))],
  ['xpm', (head) => /^\s{0,8}(?:\/\* XPM \*\/|! XPM2)/.test(latin1(head, 0, 24))],
];

export function image({ head, size }: Sample): Detected | undefined {
  // Camera raw files begin like TIFF, but a TIFF reader finds only the thumbnail.
  if (has(head, 0, 'II*\0') && (has(head, 8, 'CR') || has(head, 8, 'HEAPCCDR'))) return UNKNOWN;
  const found = LOOKS.find(([, look]) => look(head, size));
  return found === undefined ? portableMap(head) : format(found[0]);
}

/** Netpbm: the magic number could be text, so numbers must follow (netpbm's pbm(5), pam(5)). */
function portableMap(head: Uint8Array): Detected | undefined {
  if (u8(head, 0) !== 0x50) return undefined;
  if (/^P7\s{0,4}\n(?:#|WIDTH|HEIGHT|DEPTH|MAXVAL|TUPLTYPE)/.test(latin1(head, 0, 32))) return format('pam');
  const kind = { '1': 'pbm', '2': 'pgm', '3': 'ppm', '4': 'pbm', '5': 'pgm', '6': 'ppm' }[latin1(head, 1, 1)];
  if (kind === undefined) return undefined;
  // Comments run to the end of their line; long runs of them are not followed.
  const header = latin1(head, 2, 4096).replace(/#[^\r\n]*/g, ' ');
  return /^\s+\d{1,9}\s+\d{1,9}(?:\s|$)/.test(header) ? format(kind) : undefined;
}

/** ISO 15444-1: the JP2 signature box with the brand of a still image, or a raw code stream. */
function isJpeg2000(head: Uint8Array): boolean {
  if (has(head, 0, '\xff\x4f\xff\x51')) return true;
  return has(head, 0, '\0\0\0\x0cjP  \r\n\x87\n') && !has(head, 20, 'mjp2');
}

/** TIFF 6.0 and BigTIFF. */
function isTiff(head: Uint8Array): boolean {
  return ['II*\0', 'MM\0*', 'II+\0\x08\0', 'MM\0+\0\x08'].some((signature) => has(head, 0, signature));
}

/** Text may begin with "BM" too, so the size of the second header is checked (Windows and OS/2 versions). */
function isBmp(head: Uint8Array): boolean {
  return has(head, 0, 'BM') && [12, 16, 40, 52, 56, 64, 108, 124].includes(u32le(head, 14));
}

/** @param type 1 an icon, 2 a cursor */
function isIcon(head: Uint8Array, size: number, type: 1 | 2): boolean {
  if (u16le(head, 0) !== 0 || u16le(head, 2) !== type) return false;
  const count = u16le(head, 4);
  const at = u32le(head, 18);
  return count >= 1 && [0, 0xff].includes(u8(head, 9)) && u32le(head, 14) > 0 && at >= 6 + 16 * count && at < size;
}

/** ZSoft's technical reference: version, encoding, bits, a window with positive sides, and a reserved zero. */
function isPcx(head: Uint8Array): boolean {
  if (u8(head, 0) !== 0x0a || ![0, 2, 3, 4, 5].includes(u8(head, 1)) || u8(head, 2) > 1 || ![1, 2, 4, 8].includes(u8(head, 3)))
    return false;
  return u16le(head, 8) >= u16le(head, 4) && u16le(head, 10) >= u16le(head, 6) && u8(head, 64) === 0 && between(u8(head, 65), 1, 4);
}

const between = (value: number, low: number, high: number): boolean => value >= low && value <= high;
const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);
const isPrintable = (bytes: Uint8Array): boolean => /^[\t\n\r -~]*$/.test(asBuffer(bytes).toString('latin1'));
