/** What is to be removed from a picture: 1 for each pixel of the hole. */
import { lumaOf, readPam } from '../planes/picture.ts';

/** @param words the path of a mask, white where the hole is, or X, Y, width and height of a rectangle */
export function holeIn(words: readonly string[], width: number, height: number): Uint8Array {
  const mask = words.length === 1 ? maskIn(words[0] ?? '') : boxIn(words.map(Number), width, height);
  if (mask.length !== width * height) throw new Error('expected a mask of the same size');
  return mask;
}

function maskIn(path: string): Uint8Array {
  const mask = readPam(path);
  return Uint8Array.from(lumaOf(mask).data, (value, i) => (value * (mask.alpha?.data[i] ?? 1) > 0.5 ? 1 : 0));
}

function boxIn([x = 0, y = 0, w = 0, h = 0]: readonly number[], width: number, height: number): Uint8Array {
  const mask = new Uint8Array(width * height);
  for (let row = y; row < Math.min(height, y + h); row++) mask.fill(1, row * width + x, row * width + Math.min(width, x + w));
  return mask;
}
