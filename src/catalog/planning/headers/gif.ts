/** The blocks of a GIF (GIF89a, 17 to 26). */
import { has, u8, u16le } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';
import { BARE, type PictureHeader } from './picture.ts';

const table = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

export function gifHeader(file: Pieces): PictureHeader | undefined {
  const head = file.read(6, 5);
  const [width, height, flags] = [u16le(head, 0), u16le(head, 2), u8(head, 4)];
  if (!(width > 0 && height > 0)) return undefined;
  let [alpha, frames, durationMs] = [false, 0, 0];
  // Without the extension of Netscape, an animation runs once.
  let loops = 1;
  for (let at = 13 + table(flags); at < file.size; ) {
    const block = file.read(at, 24);
    if (u8(block, 0) === 0x2c) {
      frames++;
      at += 11 + table(u8(block, 9));
    } else if (u8(block, 0) === 0x21) {
      if (u8(block, 1) === 0xf9) {
        alpha ||= (u8(block, 3) & 1) !== 0;
        durationMs += shownMs(u16le(block, 4));
      } else if (u8(block, 1) === 0xff && has(block, 3, 'NETSCAPE2.0')) loops = runs(u16le(block, 16));
      at += 2;
    } else break;
    at = afterSubBlocks(file, at);
  }
  if (frames === 0) return undefined;
  const animated = frames > 1 ? { loops, durationMs } : {};
  return { ...BARE, width, height, colours: 'palette', alpha, frames, ...animated };
}

/** Hundredths of a second; browsers show a frame of 0 or 1 for a tenth. @returns ms */
const shownMs = (hundredths: number): number => (hundredths < 2 ? 100 : hundredths * 10);

/** The extension counts repetitions, 0 for ever. */
const runs = (repetitions: number): number => (repetitions === 0 ? 0 : repetitions + 1);

function afterSubBlocks(file: Pieces, from: number): number {
  for (let at = from; ; ) {
    const length = file.byte(at);
    if (length === undefined || length === 0) return at + 1;
    at += 1 + length;
  }
}
