/** How long one step may run: as long as files of its size need on a slow and busy machine, so that a kilobyte does not hold a slot for ten minutes. */
import type { EngineRole } from '../../contracts/toolchains.ts';

interface Allowance {
  /** Seconds for the smallest file: enough for the largest picture, page or sheet that a few bytes can describe. */
  readonly base: number;
  /** Seconds for each MiB of input. */
  readonly perMiB: number;
}

/** Each about ten times the measured time of an honest file of that size. The operator's maximum applies as well. */
export const ALLOWANCES: Readonly<Record<EngineRole, Allowance>> = {
  // A few kilobytes may be a plain picture of 100 megapixels, which is slow to encode.
  image: { base: 180, perMiB: 60 },
  // A minute of still video or silence is a few kilobytes.
  audio_video: { base: 300, perMiB: 900 },
  pdf: { base: 120, perMiB: 240 },
  // Office packages are compressed to a twentieth or less.
  office: { base: 120, perMiB: 240 },
  // A scanned page may be ten kilobytes and take ten seconds of OCR.
  ocr: { base: 180, perMiB: 900 },
  markup: { base: 60, perMiB: 60 },
  // The input is only the URL.
  web: { base: 180, perMiB: 60 },
};

const MIB = 1 << 20;

/** @param bytes of all inputs together @returns ms */
export function runTimeMs(role: EngineRole, bytes: number): number {
  const { base, perMiB } = ALLOWANCES[role];
  return Math.ceil((base + (perMiB * bytes) / MIB) * 1000);
}
