/** Headers of sounds whose signature is too short or missing. */
import { has, u8, u16be, u16le } from './bytes.ts';
import type { Sample } from './sample.ts';

/** CRI's header: two bytes, and the offset of a copyright notice that ends where the samples begin. */
export const isAdx = ({ head }: Sample): boolean => u16be(head, 0) === 0x8000 && has(head, u16be(head, 2) - 2, '(c)CRI');

/** Monkey's Audio, whose letters may begin a text, with a version from 3.80 to 3.99 behind them. */
export const isApe = ({ head }: Sample): boolean => has(head, 0, 'MAC ') && u16le(head, 4) >= 3800 && u16le(head, 4) <= 3999;

/** GSM 06.10, which has no header: whole frames of 33 bytes, each marked in its first four bits (RFC 3551, 4.5.8.1). */
export function isGsm({ head, size }: Sample): boolean {
  const frames = Math.floor(Math.min(head.length, size) / GSM_FRAME);
  if (frames < GSM_FRAMES || size % GSM_FRAME !== 0) return false;
  for (let frame = 0; frame < frames; frame++) if (u8(head, frame * GSM_FRAME) >> 4 !== 0xd) return false;
  return true;
}

const GSM_FRAME = 33;
/** The marks of so many frames do not come by chance. */
const GSM_FRAMES = 12;
