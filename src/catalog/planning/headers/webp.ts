/** The chunks of a WebP (WebP container specification; RFC 6386, 9.1; WebP lossless bitstream, 3). */
import { has, u8, u16le, u32le } from '../../looks/bytes.ts';
import { type ExifSays, exifSays, MOST_EXIF } from '../pictures/exif-says.ts';
import type { Pieces } from '../pieces.ts';
import { asShown, BARE, type PictureHeader } from './picture.ts';

const u24le = (bytes: Uint8Array, at: number): number => u16le(bytes, at) + u8(bytes, at + 2) * 0x1_0000;

export function webpHeader(file: Pieces): PictureHeader | undefined {
  let [width, height, frames, durationMs] = [0, 0, 0, 0];
  let loops: number | undefined;
  let said: ExifSays = {};
  const found = { alpha: false, profile: false, exif: false, xmp: false };
  for (let at = 12; at + 8 <= file.size; ) {
    const head = Buffer.from(file.read(at, 24));
    const length = u32le(head, 4);
    const is = (name: string) => has(head, 0, name);
    if (is('VP8X')) {
      const flags = u8(head, 8);
      found.alpha = (flags & 0x10) !== 0;
      [width, height] = [u24le(head, 12) + 1, u24le(head, 15) + 1];
    } else if (is('VP8 ') && width === 0) [width, height] = [u16le(head, 14) & 0x3fff, u16le(head, 16) & 0x3fff];
    else if (is('VP8L')) {
      const bits = u32le(head, 9);
      if (width === 0) [width, height] = [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
      found.alpha ||= (bits & 0x1000_0000) !== 0;
    } else if (is('ALPH')) found.alpha = true;
    else if (is('ICCP')) found.profile = true;
    else if (is('XMP ')) found.xmp = true;
    else if (is('EXIF')) {
      found.exif = true;
      said = saidIn(Buffer.from(file.read(at + 8, Math.min(length, MOST_EXIF))));
    } else if (is('ANIM')) loops = u16le(head, 12);
    else if (is('ANMF')) {
      frames++;
      durationMs += u24le(head, 20);
    }
    at += 8 + length + (length % 2);
  }
  if (width === 0 || height === 0) return undefined;
  const animated = frames > 1 && loops !== undefined ? { loops, durationMs } : {};
  return {
    ...BARE,
    ...asShown(width, height, said.orientation ?? 1),
    frames: Math.max(1, frames),
    ...animated,
    ...found,
    ...(said.density !== undefined && { density: said.density }),
  };
}

/** Some writers put a JPEG's six letters before it. */
const saidIn = (exif: Uint8Array): ExifSays => exifSays(has(exif, 0, 'Exif\0\0') ? exif.subarray(6) : exif);
