/** How long one step may run: as long as files of its size need on a slow and busy machine, so that a kilobyte does not hold a slot for ten minutes. */
import type { EngineRole } from '../../contracts/toolchains.ts';

interface Allowance {
  /** For the smallest file: what the largest picture, page or sheet takes that a few bytes can stand for. Seconds. */
  readonly base: number;
  /** Seconds for each MiB of input. */
  readonly perMiB: number;
}

/** Each about ten times what an honest file of that size took where it was measured. An operator's own maximum holds as well. */
export const ALLOWANCES: Readonly<Record<EngineRole, Allowance>> = {
  // A few kilobytes may be an even picture of 100 megapixels, which is slow to encode.
  image: { base: 180, perMiB: 60 },
  // A minute of stillness is a few kilobytes.
  audio_video: { base: 300, perMiB: 900 },
  pdf: { base: 120, perMiB: 240 },
  // Packages are compressed twenty times and more.
  office: { base: 120, perMiB: 240 },
  // A page of a scan is ten kilobytes and takes ten seconds to read.
  ocr: { base: 180, perMiB: 900 },
  markup: { base: 60, perMiB: 60 },
  // What the page loads is not in its address.
  web: { base: 180, perMiB: 60 },
};

const MIB = 1 << 20;

/** @param bytes of the input, of all together where there are several @returns ms */
export function runTimeMs(role: EngineRole, bytes: number): number {
  const { base, perMiB } = ALLOWANCES[role];
  return Math.ceil((base + (perMiB * bytes) / MIB) * 1000);
}
