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

/** More hardly make a model faster. */
const MOST_THREADS = 16;
/** On how many processors a model in one of so many slots computes. @param processors that all of them may use */
export const threadsOf = ({ modelThreads }: Pick<WorkerSettings, 'modelThreads'>, processors: number, slots: number): number =>
  modelThreads ?? Math.min(MOST_THREADS, Math.max(1, Math.floor(processors / Math.max(1, slots))));

/** What one conversion in a slot may use. @param threads of a model */
export function slotLimits(
  { time, processes }: ToolchainBounds,
  settings: Pick<WorkerSettings, ToolchainBounds['time']>,
  memoryBytes: number,
  folderBytes: number,
  threads = 1,
): StepLimits {
  const seconds = settings[time];
  // Enough for two busy cores, or for a model's threads, until the time is over; a decoder that spins is ended by the wall clock.
  // A little above the folder's limit, so that the folder's is the one that is exceeded first.
  const fileBytes = Math.min(1 << 30, folderBytes + (1 << 20));
  return { memoryBytes, cpuSeconds: seconds * Math.max(2, threads), fileBytes, folderBytes, processes, wallMs: seconds * 1000 };
}

/** By program, not by engine: two engines that use the same program share its resident, unless it was given other models. */
export function residentKey({ binaries }: Engine, binary: string): string {
  const { at: [program = binary] = [], models = [] } = binaries[binary] ?? {};
  return [program, ...models].join(' ');
}
