/** What the header of a WAV says of its samples, which FFmpeg does not read. */
import type { Facts } from '../../engine.ts';
import { has, u16le, u32le } from '../../looks/bytes.ts';
import type { Pieces } from '../pieces.ts';

/** Chunks before the samples. */
const MOST_CHUNKS = 100;
const EXTENSIBLE = 0xfffe;

/**
 * 24 bits of whole numbers in 32, of which the upper ones count (Microsoft, WAVEFORMATEXTENSIBLE): `leftJustified`.
 * Their size is written as 32 with 24 of them valid, or as 24 with blocks of 4 bytes.
 */
export function waveSays(file: Pieces): Facts {
  for (let at = 12, chunk = 0; at + 8 <= file.size && chunk < MOST_CHUNKS; chunk++) {
    const head = file.read(at, 48);
    if (has(head, 0, 'fmt ')) {
      const [tag, channels, block, bits, valid, kind] = [0, 2, 12, 14, 18, 24].map((place) => u16le(head, 8 + place));
      const isWide = block === 4 * (channels ?? 0) && (bits === 24 || (bits === 32 && valid === 24));
      return tag === EXTENSIBLE && kind === 1 && isWide ? { leftJustified: true } : {};
    }
    at += 8 + u32le(head, 4) + (u32le(head, 4) % 2);
  }
  return {};
}
