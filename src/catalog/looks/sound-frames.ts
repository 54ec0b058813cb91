/** Headers of audio frames (MPEG layers II and III, ADTS, AC-3): how long each is. */
import { u8, u16be } from './bytes.ts';

/** The frame at an offset, with its length in bytes; undefined if there is none. */
export type SoundFrame = { readonly format: string; readonly length: number } | undefined;

/** kbit/s by the index in the header: MPEG-1 layers II and III, and MPEG-2 and 2.5 for both (ISO 11172-3, 13818-3). */
const RATES = {
  mp2: [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  mp3: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  low: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
const HERTZ = [44_100, 48_000, 32_000] as const;
/** kbit/s of AC-3 by half the frame size code (ATSC A/52, table 5.18). */
const AC3_RATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640] as const;
const AC3_HERTZ = [48_000, 44_100, 32_000] as const;

export const frameAt = (bytes: Uint8Array, at: number): SoundFrame => {
  const sync = u16be(bytes, at);
  if (sync === 0x0b77) return dolby(bytes, at);
  if ((sync & 0xfff6) === 0xfff0) return adts(bytes, at);
  return (sync & 0xffe0) === 0xffe0 ? mpeg(bytes, at) : undefined;
};

function mpeg(bytes: Uint8Array, at: number): SoundFrame {
  const version = (u8(bytes, at + 1) >> 3) & 3;
  const layer = (u8(bytes, at + 1) >> 1) & 3;
  const flags = u8(bytes, at + 2);
  const name = layer === 2 ? 'mp2' : layer === 1 ? 'mp3' : undefined;
  if (name === undefined || version === 1) return undefined;
  const rate = RATES[version === 3 ? name : 'low'][flags >> 4];
  const hertz = HERTZ[(flags >> 2) & 3];
  // "Free" bit rates give no length; no encoder writes them.
  if (!rate || hertz === undefined) return undefined;
  const samples = name === 'mp3' && version !== 3 ? 576 : 1152;
  return {
    format: name,
    length: Math.floor((samples * 125 * rate) / (hertz / { 3: 1, 2: 2, 0: 4 }[version as 0 | 2 | 3])) + ((flags >> 1) & 1),
  };
}

/** ISO 13818-7: the length includes the header. */
function adts(bytes: Uint8Array, at: number): SoundFrame {
  const length = ((u8(bytes, at + 3) & 3) << 11) | (u8(bytes, at + 4) << 3) | (u8(bytes, at + 5) >> 5);
  const rateIndex = (u8(bytes, at + 2) >> 2) & 15;
  return length >= 7 && rateIndex < 13 ? { format: 'aac', length } : undefined;
}

/** ATSC A/52: AC-3, and with a higher bit stream id Enhanced AC-3 (annex E). */
function dolby(bytes: Uint8Array, at: number): SoundFrame {
  const id = u8(bytes, at + 5) >> 3;
  if (id > 10 && id <= 16) return { format: 'eac3', length: ((u16be(bytes, at + 2) & 0x7ff) + 1) * 2 };
  const code = u8(bytes, at + 4);
  const rate = AC3_RATES[(code & 0x3f) >> 1];
  const hertz = AC3_HERTZ[code >> 6];
  if (!(id <= 10) || rate === undefined || hertz === undefined) return undefined;
  // 1536 samples a frame, in words of two bytes; at 44.1 kHz an odd code is one word longer.
  const words = Math.floor((96_000 * rate) / hertz) + (hertz === 44_100 ? code & 1 : 0);
  return { format: 'ac3', length: words * 2 };
}
