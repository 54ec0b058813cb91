/** What each slot has: its share of the machine, and programs that stay resident. */
import type { Engine, StepLimits } from '../catalog/engine.ts';
import type { ToolchainBounds } from '../contracts/toolchains.ts';
import type { ResidentOptions, Residents } from '../exec/residents/residents.ts';
import type { WorkerSettings } from './settings.ts';

export interface RenewableResidents extends Residents {
  /** Ends all processes: the next requests get new ones. Not while a request is served. */
  renew(): Promise<void>;
}

/** How long resident programs are kept. @param warmBytes what one may hold between two conversions */
export const agesOf = (
  { residents }: Pick<WorkerSettings, 'residents'>,
  warmBytes: number,
): Pick<ResidentOptions, 'perLife' | 'leakBytes' | 'idleMs'> => ({
  perLife: residents.perLife,
  leakBytes: warmBytes,
  idleMs: residents.modelSeconds * 1000,
});

/** @param open called for the first ones, and at each renewal */
export function renewableResidents(open: () => Residents): RenewableResidents {
  let current = open();
  return {
    ask: (...request) => current.ask(...request),
    prepare: (...start) => current.prepare(...start),
    pid: (key) => current.pid(key),
    async renew() {
      const old = current;
      // Their folders have the same names.
      await old.close();
      current = open();
    },
    close: () => current.close(),
  };
}

/** What a conversion's folder may hold, and what of the work folder is left for warm programs. */
const FOLDER_BYTES = 2 * 2 ** 30;
const KEPT = 1 / 8;
/** What the folder of one conversion may hold, so that all of them together never fill the work folder, bytes. */
export const diskShareOf = (dirBytes: number | undefined, slots: number): number =>
  dirBytes === undefined ? FOLDER_BYTES : Math.min(FOLDER_BYTES, Math.floor((dirBytes * (1 - KEPT)) / Math.max(1, slots)));

/** What one conversion in a slot may use. */
export function slotLimits(
  { time, processes }: ToolchainBounds,
  settings: Pick<WorkerSettings, ToolchainBounds['time']>,
  memoryBytes: number,
  folderBytes: number,
): StepLimits {
  const seconds = settings[time];
  // Two cores' worth of work may be done in the time; a decoder that spins dies by the wall clock.
  // A little above the folder's, so that it is the folder that is found too full.
  const fileBytes = Math.min(1 << 30, folderBytes + (1 << 20));
  return { memoryBytes, cpuSeconds: seconds * 2, fileBytes, folderBytes, processes, wallMs: seconds * 1000 };
}

/** By program, not by engine: two engines that use the same program share its resident, unless it was given other models. */
export function residentKey({ binaries }: Engine, binary: string): string {
  const { at: [program = binary] = [], models = [] } = binaries[binary] ?? {};
  return [program, ...models].join(' ');
}
