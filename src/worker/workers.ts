/** Starts all workers of one process: one per slot, each with its own slot folder and resident programs. */

import type { Catalog } from '../catalog/catalog.ts';
import type { StepLimits } from '../catalog/engine.ts';
import { type Bounds, type Toolchain, toolchainRow, toolchains } from '../contracts/toolchains.ts';
import type { Launcher } from '../exec/confine/confine.ts';
import { openSlot } from '../exec/files/workspace.ts';
import { openResidents, type ResidentOptions } from '../exec/residents/residents.ts';
import type { Toolbox } from '../exec/toolbox.ts';
import type { EgressProxy } from '../fetch/pages/proxy.ts';
import { openJudge } from '../judge/judge.ts';
import { jobHandler } from './job-handler.ts';
import { type HeldOrders, startWorker, type Worker, type WorkerDeps } from './loop.ts';
import { memoryOf } from './memory.ts';
import { createStepper } from './run-step.ts';
import type { WorkerSettings } from './settings.ts';

export interface WorkersDeps extends Omit<WorkerDeps, 'pool' | 'handleJob'> {
  readonly settings: Omit<WorkerSettings, 'slots'> & { readonly slots: Partial<Readonly<Record<Toolchain, number>>> };
  /** The pool whose orders a toolchain's slots take; unset: the pool of the same name. */
  readonly pools?: Partial<Readonly<Record<Toolchain, string>>>;
  /** Folder that holds the slots' folders; leftovers of an earlier process are removed. */
  readonly workDir: string;
  readonly launcher: Launcher;
  readonly toolbox: Toolbox;
  readonly catalog: Catalog;
  /** Opens one slot's proxy to the Internet; undefined where there is no Internet access. */
  readonly openEgressProxy: (() => Promise<EgressProxy>) | undefined;
}

/** @throws TooLittleMemory */
export async function startWorkers(deps: WorkersDeps): Promise<Worker> {
  const { settings, workDir, launcher, toolbox, catalog, metrics, log } = deps;
  const allSlots = Object.values(settings.slots).reduce((sum, slots) => sum + slots, 0);
  const { conversionBytes, warmBytes } = memoryOf(settings, allSlots);
  const onReplaced: ResidentOptions['onReplaced'] = (program, why) => {
    log.info({ program, why }, 'a resident program is replaced');
    metrics.residentReplaced(program, why);
  };
  const judge = openJudge({ engines: true, onReplaced: (err) => log.warn({ err }, 'a thread that judges files was replaced') });
  const heldOrders: HeldOrders = new Map();
  const workers: Worker[] = [];
  const closing: (() => Promise<void>)[] = [];
  // Slot 0 reads the programs' versions at the start; workers count from 1, so that no two share a user.
  let index = 1;
  for (const toolchain of toolchains) {
    const { bounds, reaches } = toolchainRow(toolchain);
    const engines = catalog.engines.filter((engine) => engine.toolchains.includes(toolchain));
    for (let count = 0; count < (settings.slots[toolchain] ?? 0) && engines.length > 0; count++) {
      const slot = await openSlot(workDir, index++);
      const residents = openResidents({ launcher, slot, perLife: settings.residents.perLife, leakBytes: warmBytes, onReplaced });
      const egressProxy = reaches === 'internet' ? await deps.openEgressProxy?.() : undefined;
      const stepper = createStepper({ toolbox, slot, residents, judge, egressProxy });
      const handleJob = jobHandler({
        catalog,
        slot,
        stepper,
        judge,
        limits: limitsFor(bounds, settings, conversionBytes, diskShareOf(settings.dirBytes, allSlots)),
      });
      workers.push(startWorker({ ...deps, heldOrders, pool: deps.pools?.[toolchain] ?? toolchain, handleJob }));
      closing.push(async () => {
        await residents.close();
        await egressProxy?.close();
      });
    }
  }
  let closed: Promise<unknown> | undefined;
  return {
    async drain(graceMs) {
      await Promise.all(workers.map((worker) => worker.drain(graceMs)));
      deps.health?.close();
      // Only once, however often `drain` is called.
      closed ??= Promise.all([judge.close(), ...closing.map((close) => close())]);
      await closed;
    },
  };
}

/** What a conversion's folder may hold, and what of the work folder is left for warm programs. */
const FOLDER_BYTES = 2 * 2 ** 30;
const KEPT = 1 / 8;
/** What the folder of one conversion may hold, so that all of them together never fill the work folder, bytes. */
export const diskShareOf = (dirBytes: number | undefined, slots: number): number =>
  dirBytes === undefined ? FOLDER_BYTES : Math.min(FOLDER_BYTES, Math.floor((dirBytes * (1 - KEPT)) / Math.max(1, slots)));

function limitsFor({ time, processes }: Bounds, settings: WorkersDeps['settings'], memoryBytes: number, folderBytes: number): StepLimits {
  const seconds = settings[time];
  // Two cores' worth of work may be done in the time; a decoder that spins dies by the wall clock.
  // A little above the folder's, so that it is the folder that is found too full.
  const fileBytes = Math.min(1 << 30, folderBytes + (1 << 20));
  return { memoryBytes, cpuSeconds: seconds * 2, fileBytes, folderBytes, processes, wallMs: seconds * 1000 };
}
