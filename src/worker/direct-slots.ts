/** Slots for conversions without a queue, each with the programs that stay resident in it. */
import { availableParallelism } from 'node:os';
import type { Engine, StepLimits } from '../catalog/engine.ts';
import { type Toolchain, toolchainRow } from '../contracts/toolchains.ts';
import type { Launcher } from '../exec/confine/confine.ts';
import { openSlot, type Slot } from '../exec/files/workspace.ts';
import { openResidents } from '../exec/residents/residents.ts';
import type { Toolbox } from '../exec/toolbox.ts';
import { memoryOf } from './memory.ts';
import type { WorkerSettings } from './settings.ts';
import { agesOf, diskShareOf, type RenewableResidents, renewableResidents, residentKey, slotLimits, threadsOf } from './slot.ts';

export interface DirectSlotsDeps {
  readonly settings: WorkerSettings;
  readonly workDir: string;
  readonly launcher: Launcher;
  readonly toolbox: Toolbox;
}

export interface DirectSlot {
  readonly slot: Slot;
  readonly residents: RenewableResidents;
}

export interface DirectSlots {
  /** As many as conversions run at a time. */
  readonly count: number;
  open(): Promise<DirectSlot>;
  /** What one conversion may use. */
  limitsIn(toolchain: Toolchain): StepLimits;
  /** Starts what an engine keeps running, ahead of the first file. */
  prepare(opened: DirectSlot, engine: Engine, toolchain: Toolchain): void;
}

export function directSlots({ settings, workDir, launcher, toolbox }: DirectSlotsDeps, count: number): DirectSlots {
  const { conversionBytes, warmBytes } = memoryOf(settings, count);
  const disk = diskShareOf(settings.dirBytes, count);
  const threads = threadsOf(settings, availableParallelism(), count);
  // Slot 0 has read the programs' versions.
  let opened = 0;
  const limitsIn = (toolchain: Toolchain) => slotLimits(toolchainRow(toolchain).bounds, settings, conversionBytes, disk, threads);
  return {
    count,
    async open() {
      const slot = await openSlot(workDir, ++opened, { threads });
      const open = () => openResidents({ launcher, slot, ...agesOf(settings, warmBytes) });
      return { slot, residents: renewableResidents(open) };
    },
    limitsIn,
    prepare({ residents }, engine, toolchain) {
      for (const [binary, { resident }] of Object.entries(engine.binaries))
        if (resident) residents.prepare(residentKey(engine, binary), toolbox.resolve(engine, binary), limitsIn(toolchain));
    },
  };
}
