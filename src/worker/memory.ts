/** What each conversion may use of the memory that the whole worker has: all slots together never ask for more than there is. Pure. */
import type { WorkerSettings } from './settings.ts';

const MIB = 1 << 20;
/** Of the process itself with its threads, bytes: it measures 150 MB, and what it sends and receives passes through it. */
export const OWN_BYTES = 256 * MIB;
/** Of a slot's share, what its warm programs may keep while another program works. */
const WARM = 1 / 4;
const DEFAULT_CONVERSION_BYTES = 2 * 2 ** 30;
const DEFAULT_WARM_BYTES = 2 ** 30;
/** With less, no converter starts. */
const LEAST_CONVERSION_BYTES = 64 * MIB;

export interface Memory {
  /** Of one conversion, all its processes together, bytes. */
  readonly conversionBytes: number;
  /** Of a warm program between two conversions, bytes. */
  readonly warmBytes: number;
}

/** The limit leaves too little for its slots: a sentence for whoever set it. */
export class TooLittleMemory extends Error {
  override readonly name = 'TooLittleMemory';
}

/** @param slots conversions at a time @throws TooLittleMemory */
export function memoryOf(
  { memoryBytes, limitBytes, residents }: Pick<WorkerSettings, 'memoryBytes' | 'limitBytes' | 'residents'>,
  slots: number,
): Memory {
  if (limitBytes === undefined)
    return { conversionBytes: memoryBytes ?? DEFAULT_CONVERSION_BYTES, warmBytes: residents.leakBytes ?? DEFAULT_WARM_BYTES };
  const share = Math.floor((limitBytes - OWN_BYTES) / Math.max(1, slots));
  const conversionBytes = memoryBytes ?? Math.floor(share * (1 - WARM));
  if (conversionBytes < LEAST_CONVERSION_BYTES) {
    const needed = Math.ceil(OWN_BYTES / MIB + (Math.max(1, slots) * LEAST_CONVERSION_BYTES) / MIB / (1 - WARM));
    throw new TooLittleMemory(
      `a limit of ${Math.floor(limitBytes / MIB)} MiB leaves too little memory for ${slots} conversions at a time: raise it to ${needed} MiB at least, or lower the slots`,
    );
  }
  return { conversionBytes, warmBytes: residents.leakBytes ?? Math.max(1, Math.floor(share * WARM)) };
}
