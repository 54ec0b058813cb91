/** Headers of videos whose signature is too short: raw streams, and old animations. */
import { find, has, u8, u16le, u32le } from './bytes.ts';
import type { Sample } from './sample.ts';

/** Profiles of a sequence parameter set (ITU-T H.264, annex A). */
const H264_PROFILES = [44, 66, 77, 83, 86, 88, 100, 110, 118, 122, 128, 244];

/** Offset behind the first start code of a byte stream (ITU-T H.264, annex B), or -1. */
const afterStart = (head: Uint8Array): number => (has(head, 0, '\0\0\0\x01') ? 4 : has(head, 0, '\0\0\x01') ? 3 : -1);

/** H.264: a delimiter or supplemental information, then a sequence parameter set of a known profile. */
export function isAnnexB({ head }: Sample): boolean {
  const at = afterStart(head);
  if (at < 0 || ![0x67, 0x47, 0x27, 0x09, 0x06].includes(u8(head, at))) return false;
  const set = [0x67, 0x47, 0x27]
    .map((unit) => find(head.subarray(0, 4096), `\0\0\x01${String.fromCharCode(unit)}`))
    .find((found) => found >= 0);
  return set !== undefined && H264_PROFILES.includes(u8(head, set + 4));
}

/** H.265: a delimiter or a video parameter set, in layer 0 (ITU-T H.265, 7.3.1.2). */
export function isHevcStream({ head }: Sample): boolean {
  const at = afterStart(head);
  return at >= 0 && (has(head, at, '\x40\x01') || has(head, at, '\x46\x01')) && find(head.subarray(0, 4096), '\0\0\x01\x42\x01') >= 0;
}

/** AV1: an empty temporal delimiter, then a sequence header of plausible length (AV1 bitstream specification, 5.3). */
export const isAv1Stream = ({ head }: Sample): boolean => has(head, 0, '\x12\0\x0a') && u8(head, 3) >= 4 && u8(head, 3) < 64;

/** A sequence header with a frame rate, and after it the extension that only MPEG-2 has (ISO 13818-2, 6.2.2). */
const isSequence = ({ head }: Sample): boolean => has(head, 0, '\0\0\x01\xb3') && u8(head, 7) >> 4 !== 0;
const isExtended = ({ head }: Sample): boolean => has(head.subarray(0, 512), find(head.subarray(0, 512), '\0\0\x01', 4), '\0\0\x01\xb5');
export const isMpeg2Stream = (sample: Sample): boolean => isSequence(sample) && isExtended(sample);
export const isMpeg1Stream = (sample: Sample): boolean => isSequence(sample) && !isExtended(sample);

/** Flash, with a version that exists: plain, of the size that it states, or compressed by zlib. What LZMA compressed no free program reads. */
export const isSwf = ({ head, size }: Sample): boolean =>
  u8(head, 3) >= 1 && u8(head, 3) <= 45 && (has(head, 0, 'FWS') ? u32le(head, 4) === size : has(head, 0, 'CWS') && u8(head, 8) === 0x78);

/** Autodesk's FLI and FLC: their size, their type, and eight bits a pixel. */
export const isFlc = ({ head, size }: Sample): boolean =>
  [0xaf11, 0xaf12].includes(u16le(head, 4)) && u16le(head, 6) >= 1 && u16le(head, 12) === 8 && u32le(head, 0) <= size + 128;

/** A picture's start code, and behind its header of 32 bits the first group of blocks (ITU-T H.261, 4.2). */
export const isH261Stream = ({ head }: Sample): boolean =>
  has(head, 0, '\0\x01') && u8(head, 2) < 16 && has(head, 4, '\0\x01') && u8(head, 6) >> 4 === 1;

/** Two pictures: start code, two bits that are 1 and 0, and a size that exists (ITU-T H.263, 5.1). */
export function isH263Stream({ head }: Sample): boolean {
  const isPicture = (at: number) =>
    has(head, at, '\0\0') &&
    u8(head, at + 2) >> 2 === 0x20 &&
    (u8(head, at + 3) & 3) === 2 &&
    [1, 2, 3, 4, 5, 7].includes((u8(head, at + 4) >> 2) & 7);
  if (!isPicture(0)) return false;
  for (let at = find(head, '\0\0', 5); at >= 0; at = find(head, '\0\0', at + 1)) if (isPicture(at)) return true;
  return false;
}

/** The start of a sequence or of an object, and soon its layer (ISO 14496-2, 6.2). */
export function isMpeg4Stream({ head }: Sample): boolean {
  const isStart = has(head, 0, '\0\0\x01\xb0') || (has(head, 0, '\0\0\x01') && u8(head, 3) < 0x20);
  const start = head.subarray(0, 256);
  for (let at = find(start, '\0\0\x01'); isStart && at >= 0; at = find(start, '\0\0\x01', at + 3))
    if (u8(start, at + 3) >> 4 === 2) return true;
  return false;
}
