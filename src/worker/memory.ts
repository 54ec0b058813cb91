/** Divides a worker's memory among its slots, so that all of them together never use more than the worker has. Pure. */
import type { WorkerSettings } from './settings.ts';

const MIB = 1 << 20;
/** Reserved for the Node process itself with its threads, bytes: it uses 150 MB, and all transfers pass through it. */
export const OWN_BYTES = 256 * MIB;
/** The part of a slot's share that its warm programs may keep while another program works. */
const WARM = 1 / 4;
const DEFAULT_CONVERSION_BYTES = 2 * 2 ** 30;
const DEFAULT_WARM_BYTES = 2 ** 30;
/** Converters do not start with less. */
const MIN_CONVERSION_BYTES = 64 * MIB;

export interface Memory {
  /** Limit of one conversion, all its processes together, bytes. */
  readonly conversionBytes: number;
  /** What a warm program may keep between two conversions, bytes. */
  readonly warmBytes: number;
}

/** The memory limit is too small for the slots. The message is for the operator. */
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
  if (conversionBytes < MIN_CONVERSION_BYTES) {
    const needed = Math.ceil(OWN_BYTES / MIB + (Math.max(1, slots) * MIN_CONVERSION_BYTES) / MIB / (1 - WARM));
    throw new TooLittleMemory(
      `a limit of ${Math.floor(limitBytes / MIB)} MiB leaves too little memory for ${slots} conversions at a time: raise it to ${needed} MiB at least, or lower the slots`,
    );
  }
  return { conversionBytes, warmBytes: residents.leakBytes ?? Math.max(1, Math.floor(share * WARM)) };
}
