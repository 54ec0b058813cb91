/** Whether a text may have a formula, which stands between two dollars. */
import type { Pieces } from '../pieces.ts';

const PIECE = 1 << 20;
const DOLLAR = 0x24;

export function hasDollars(file: Pieces): boolean {
  let found = 0;
  for (let at = 0; at < file.size; at += PIECE) {
    const piece = file.read(at, PIECE);
    for (let place = piece.indexOf(DOLLAR); place >= 0; place = piece.indexOf(DOLLAR, place + 1)) if (++found > 1) return true;
  }
  return false;
}
