/** Camera raw files, which begin like TIFF: a TIFF reader would find only the preview. */
import { has, u16be, u16le, u32be, u32le } from './bytes.ts';
import type { Detected, Sample } from './sample.ts';
import { asFormat, UNKNOWN } from './verdict.ts';

/** DNGVersion (Digital Negative 1.4, chapter 4). */
const DNG_VERSION = 50_706;
/** A directory of a photo has a few dozen entries; more are not followed. */
const MOST_ENTRIES = 500;

export function raw({ head }: Sample): Detected | undefined {
  const little = has(head, 0, 'II*\0');
  if (!little && !has(head, 0, 'MM\0*')) return undefined;
  if (little && (has(head, 8, 'CR') || has(head, 8, 'HEAPCCDR'))) return UNKNOWN;
  const [u16, u32] = little ? [u16le, u32le] : [u16be, u32be];
  const at = u32(head, 4);
  const entries = Math.min(u16(head, at), MOST_ENTRIES);
  for (let entry = 0; entry < entries; entry++) if (u16(head, at + 2 + entry * 12) === DNG_VERSION) return asFormat('dng');
  return undefined;
}
