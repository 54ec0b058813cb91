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

/** The express slot's part of what another slot has: it takes small files alone, and what it has too little memory for goes to another slot. */
export const EXPRESS = 1 / 4;

export interface MemoryBudget {
  /** Limit of one conversion, all its processes together, bytes. */
  readonly conversionBytes: number;
  /** What a warm program may keep between two conversions, bytes. */
  readonly warmBytes: number;
  /** The same for an express slot; undefined if too little is left for one. */
  readonly express?: Pick<MemoryBudget, 'conversionBytes' | 'warmBytes'> | undefined;
}

type MemorySettings = Pick<WorkerSettings, 'memoryBytes' | 'limitBytes'> & {
  readonly residents: Pick<WorkerSettings['residents'], 'leakBytes'>;
};

/** The memory limit is too small for the slots. The message is for the operator. */
export class TooLittleMemory extends Error {
  override readonly name = 'TooLittleMemory';
}

/**
 * @param slots conversions at a time, without express slots
 * @param expressSlots how many of these there are, if the memory allows
 * @throws TooLittleMemory
 */
export function memoryOf(settings: MemorySettings, slots: number, expressSlots = 0): MemoryBudget {
  const { memoryBytes, limitBytes, residents } = settings;
  if (limitBytes === undefined) {
    const all = { conversionBytes: memoryBytes ?? DEFAULT_CONVERSION_BYTES, warmBytes: residents.leakBytes ?? DEFAULT_WARM_BYTES };
    return expressSlots === 0 ? all : { ...all, express: all };
  }
  const share = Math.floor((limitBytes - OWN_BYTES) / Math.max(1, slots + expressSlots * EXPRESS));
  const divided = (bytes: number) => ({
    conversionBytes: memoryBytes ?? Math.floor(bytes * (1 - WARM)),
    warmBytes: residents.leakBytes ?? Math.max(1, Math.floor(bytes * WARM)),
  });
  const { conversionBytes, warmBytes } = divided(share);
  const express = divided(share * EXPRESS);
  if (expressSlots > 0)
    return express.conversionBytes < MIN_CONVERSION_BYTES ? memoryOf(settings, slots) : { conversionBytes, warmBytes, express };
  if (conversionBytes < MIN_CONVERSION_BYTES) {
    const needed = Math.ceil(OWN_BYTES / MIB + (Math.max(1, slots) * MIN_CONVERSION_BYTES) / MIB / (1 - WARM));
    throw new TooLittleMemory(
      `a limit of ${Math.floor(limitBytes / MIB)} MiB leaves too little memory for ${slots} conversions at a time: raise it to ${needed} MiB at least, or lower the slots`,
    );
  }
  return { conversionBytes, warmBytes };
}
