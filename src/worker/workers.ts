/** Starts all workers of one process: one per slot, and per express slot, each with its own slot folder and resident programs. */

import type { Catalog } from '../catalog/catalog.ts';
import { type Toolchain, toolchainRow, toolchains } from '../contracts/toolchains.ts';
import type { Launcher } from '../exec/confine/confine.ts';
import type { DeviceAccess } from '../exec/confine/policy.ts';
import { openSlot } from '../exec/files/workspace.ts';
import { openResidents, type ResidentOptions } from '../exec/residents/residents.ts';
import type { Toolbox } from '../exec/toolbox.ts';
import type { EgressProxy } from '../fetch/pages/proxy.ts';
import { openJudge } from '../judge/judge.ts';
import { jobHandler } from './conversion/job-handler.ts';
import { recipeHandler } from './conversion/recipes/handler.ts';
import { createStepper } from './conversion/run-step.ts';
import { runTrial } from './conversion/run-trial.ts';
import type { EngineHealth } from './health.ts';
import { EXPRESS, memoryOf } from './memory.ts';
import type { HeldDeliveries } from './orders/held-delivery.ts';
import { startWorker, type WorkerDeps, type WorkerLoop } from './orders/loop.ts';
import { type PoolSlots, poolSlots } from './orders/pool-slots.ts';
import type { JobHandler } from './orders/process-order.ts';
import type { WorkerSettings } from './settings.ts';
import { agesOf, diskShareOf, renewableResidents, slotLimits, threadsOf } from './slot.ts';
import type { EngineStates } from './trials/engine-states.ts';
import { proofIn } from './trials/proof.ts';
import { type Seat, startTrials } from './trials/schedule.ts';
import { slotTime } from './trials/slot-time.ts';

export interface WorkersDeps
  extends Omit<WorkerDeps, 'pool' | 'handleJob' | 'heldDeliveries' | 'slots' | 'express' | 'sharing' | 'health'> {
  readonly settings: Omit<WorkerSettings, 'slots'> & { readonly slots: Partial<Readonly<Record<Toolchain, number>>> };
  /** The pool whose orders a toolchain's slots take; unset: the pool of the same name. */
  readonly pools?: Partial<Readonly<Record<Toolchain, string>>>;
  /** Folder that holds the slots' folders; leftovers of an earlier process are removed. */
  readonly workDir: string;
  readonly launcher: Launcher;
  readonly toolbox: Toolbox;
  /** As it is now: it changes with `engineStates`. */
  readonly catalog: () => Catalog;
  readonly engineStates: EngineStates;
  readonly health?: WorkerDeps['health'] & Pick<EngineHealth, 'check'>;
  /** What a toolchain's programs may use besides the processors; unset: nothing. */
  readonly devices?: ReadonlyMap<Toolchain, DeviceAccess>;
  /** Moves a recipe that is done here to the pool that goes on with it. */
  readonly forward: (jobId: string) => Promise<void>;
  /** Processors that its slots may use together. */
  readonly processors: number;
  /** Opens one slot's proxy to the Internet; undefined where there is no Internet access. */
  readonly openEgressProxy: (() => Promise<EgressProxy>) | undefined;
}

export interface PoolWorkers extends WorkerLoop {
  /** Resolves when every engine has been tried. */
  readonly tried: Promise<void>;
}

/**
 * How far programs of other slots come behind those of express slots: with all processors busy, one program there still has a whole one (its
 * weight is 2.4 times theirs), and starts as on a machine at rest. What waits there is small, and waits for what runs long.
 */
const BEHIND_EXPRESS = 4;

/** @throws TooLittleMemory */
export async function startWorkers(deps: WorkersDeps): Promise<PoolWorkers> {
  const { settings, workDir, launcher, toolbox, catalog, engineStates: states, metrics, log } = deps;
  const installed = toolbox.installed.map(({ engine }) => engine);
  const enginesOf = (toolchain: Toolchain) => installed.filter((engine) => engine.toolchains.includes(toolchain));
  const inUse = toolchains.filter((toolchain) => (settings.slots[toolchain] ?? 0) > 0 && enginesOf(toolchain).length > 0);
  // A device has no room for more than its slots.
  const hasExpress = (toolchain: Toolchain) => settings.sharing.express && (deps.devices?.get(toolchain)?.files.length ?? 0) === 0;
  const expressSlots = inUse.filter(hasExpress).length;
  const allSlots = Object.values(settings.slots).reduce((sum, slots) => sum + slots, 0);
  const { express: expressMemory, ...slotMemory } = memoryOf(settings, allSlots, expressSlots);
  const disk = diskShareOf(settings.dirBytes, allSlots + (expressMemory === undefined ? 0 : expressSlots * EXPRESS));
  const onReplaced: ResidentOptions['onReplaced'] = (program, why) => {
    log.info({ program, why }, 'a resident program is replaced');
    metrics.residentReplaced(program, why);
  };
  const onStarted: ResidentOptions['onStarted'] = (program, { by, reason }) => {
    if (by === 'process')
      log.warn(
        { program, reason },
        'a program cannot be forked on this machine: it is started for each file, which takes a second of CPU time',
      );
    metrics.residentStarted(program, by ?? 'no');
  };
  const judge = openJudge({ engines: true, onReplaced: (err) => log.warn({ err }, 'a thread that judges files was replaced') });
  const heldDeliveries: HeldDeliveries = new Map();
  const workers: WorkerLoop[] = [];
  const closing: (() => Promise<void>)[] = [];
  const seats: Seat[] = [];
  // Slot 0 reads the programs' versions at the start; workers count from 1, so that no two share a user.
  let index = 1;
  const { sharing } = settings;
  const start = async (toolchain: Toolchain, slots: PoolSlots, express: boolean) => {
    const { bounds, reaches } = toolchainRow(toolchain);
    const threads = threadsOf(settings, deps.processors, settings.slots[toolchain] ?? 0);
    const nice = express ? undefined : BEHIND_EXPRESS;
    const slot = await openSlot(workDir, index++, { devices: deps.devices?.get(toolchain), threads, nice });
    const { conversionBytes, warmBytes } = (express ? expressMemory : undefined) ?? slotMemory;
    const residents = renewableResidents(() => openResidents({ launcher, slot, ...agesOf(settings, warmBytes), onStarted, onReplaced }));
    const egressProxy = reaches === 'internet' ? await deps.openEgressProxy?.() : undefined;
    const onDeviceRefused = (why: string) => {
      log.warn({ toolchain, why }, 'a program could not use its device: the processor did the work');
      metrics.deviceRefused(toolchain);
    };
    const stepper = createStepper({ toolbox, slot, residents, judge, egressProxy, onDeviceRefused });
    const limits = slotLimits(
      bounds,
      settings,
      conversionBytes,
      settings.dirBytes !== undefined && express ? disk * EXPRESS : disk,
      threads,
    );
    const fullLimits = slotLimits(bounds, settings, slotMemory.conversionBytes, disk, threads);
    const hopDeps = { slot, stepper, judge, limits };
    const proof = proofIn({
      // With a full share even in the express slot: a trial must not fail for the slot's lack of memory.
      runTrial: (engine, trial, signal) => runTrial({ ...hopDeps, limits: fullLimits }, engine, trial, signal),
      states,
      toolbox,
      renewResidents: residents.renew,
      machineFault: async () => deps.health?.check(),
    });
    const time = slotTime();
    const ofJobs = {
      ...hopDeps,
      proof,
      states,
      get catalog() {
        return catalog();
      },
    };
    const convertJob = recipeHandler(ofJobs, deps.forward, jobHandler(ofJobs));
    const handleJob: JobHandler = (...job) => time.forOrder(() => convertJob(...job));
    // Not in the express slot: it has less memory than an engine may need, and the other slots find out the same.
    if (!express) seats.push({ toolchain, time, proof, cool: residents.renew });
    workers.push(startWorker({ ...deps, heldDeliveries, pool: deps.pools?.[toolchain] ?? toolchain, handleJob, slots, express, sharing }));
    closing.push(async () => {
      await time.close();
      await residents.close();
      await egressProxy?.close();
      await slot.settled();
    });
  };
  for (const toolchain of inUse) {
    const count = settings.slots[toolchain] ?? 0;
    const slots = poolSlots(count);
    for (let n = 0; n < count; n++) await start(toolchain, slots, false);
    if (expressMemory !== undefined && hasExpress(toolchain)) await start(toolchain, slots, true);
  }
  const trials = startTrials({ engines: installed, seats, states, atStart: settings.trials });
  let closed: Promise<unknown> | undefined;
  return {
    tried: trials.tried,
    async drain(graceMs) {
      trials.close();
      await Promise.all(workers.map((worker) => worker.drain(graceMs)));
      deps.health?.close();
      // Only once, however often `drain` is called.
      closed ??= Promise.all([judge.close(), ...closing.map((close) => close())]);
      await closed;
    },
  };
}
