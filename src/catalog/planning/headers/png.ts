/** The chunks of a PNG or APNG (PNG 3, 11). */
import { has, u8, u16be, u32be } from '../../looks/bytes.ts';
import { exifSays, MOST_EXIF } from '../pictures/exif-says.ts';
import { chunksIn } from '../pictures/png.ts';
import type { Pieces } from '../pieces.ts';
import { asShown, BARE, type PictureHeader, perInch } from './picture.ts';

/** 11.2.1: the type of colours, a number in the header. */
const COLOURS: Readonly<Record<number, PictureHeader['colours']>> = { 0: 'grey', 2: 'rgb', 3: 'palette', 4: 'grey', 6: 'rgb' };

export function pngHeader(file: Pieces): PictureHeader | undefined {
  const head = file.read(16, 10);
  const [width, height, depth, type] = [u32be(head, 0), u32be(head, 4), u8(head, 8), u8(head, 9)];
  const colours = COLOURS[type];
  if (!(width > 0 && height > 0) || colours === undefined) return undefined;
  let [alpha, frames, orientation, durationMs] = [type === 4 || type === 6, 1, 1, 0];
  let [loops, density, gamma]: (number | undefined)[] = [];
  let isTold = false;
  const found = { profile: false, exif: false, xmp: false };
  for (const { head: chunk, at, length } of chunksIn(file)) {
    const is = (name: string) => has(chunk, 4, name);
    if (is('iCCP') || is('sRGB') || is('cICP')) isTold = true;
    if (is('gAMA')) gamma = u32be(file.read(at, 4), 0) / GAMMA_UNIT;
    if (is('tRNS')) alpha = true;
    else if (is('iCCP')) found.profile = true;
    else if (is('iTXt')) found.xmp ||= has(file.read(at, 18), 0, 'XML:com.adobe.xmp\0');
    else if (is('pHYs')) {
      const data = file.read(at, 9);
      if (u8(data, 8) === 1) density = perInch(u32be(data, 0));
    } else if (is('eXIf') && !found.exif) {
      found.exif = true;
      const said = exifSays(file.read(at, Math.min(length, MOST_EXIF)));
      orientation = said.orientation ?? 1;
      density ??= said.density;
    } else if (is('acTL')) {
      const data = file.read(at, 8);
      [frames, loops] = [u32be(data, 0), u32be(data, 4)];
    } else if (is('fcTL')) durationMs += delayOf(file.read(at + 20, 4));
  }
  const animated = frames > 1 && loops !== undefined ? { loops, durationMs: Math.round(durationMs) } : {};
  return {
    ...BARE,
    ...asShown(width, height, orientation),
    depth: colours === 'palette' ? 8 : depth,
    colours,
    alpha,
    frames: Math.max(1, frames),
    ...animated,
    ...found,
    ...(density !== undefined && { density }),
    ...(gamma !== undefined && !isTold && isUnusual(gamma) && { gamma }),
  };
}

/** 11.3.2.2: hundred thousandths; sRGB is near 1/2.2. Beyond these, no picture was made. */
const GAMMA_UNIT = 100_000;
const isUnusual = (gamma: number): boolean => gamma >= 0.1 && gamma <= 10 && Math.abs(gamma * 2.2 - 1) > 0.05;

/** 11.3.6.2: a fraction of a second, of which a denominator of 0 stands for 100. @returns ms */
const delayOf = (data: Uint8Array): number => (u16be(data, 0) * 1000) / (u16be(data, 2) || 100);
