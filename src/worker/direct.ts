/** Conversions in this process without a queue: as many at a time as there are slots, each by the same steps as a worker's job. */
import { constants } from 'node:fs';
import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../catalog/engine.ts';
import { type Toolchain, toolchainRow } from '../contracts/toolchains.ts';
import { conversionFailed } from '../errors.ts';
import type { Launcher } from '../exec/confine/confine.ts';
import { openSlot, type Slot } from '../exec/files/workspace.ts';
import { openResidents } from '../exec/residents/residents.ts';
import type { Toolbox } from '../exec/toolbox.ts';
import type { JobRecord } from '../jobs/record.ts';
import type { Judge } from '../judge/judge.ts';
import { runJob, sourceName } from './job-handler.ts';
import { memoryOf } from './memory.ts';
import type { PackedOutput } from './output.ts';
import { createStepper, type Stepper } from './run-step.ts';
import type { WorkerSettings } from './settings.ts';
import type { EngineStates } from './trials/engine-states.ts';
import { type Proof, proofIn } from './trials/proof.ts';
import { runTrial } from './trials/run.ts';
import { diskShareOf, type RenewableResidents, renewableResidents, slotLimits } from './workers.ts';

export interface DirectDeps {
  readonly settings: WorkerSettings;
  readonly workDir: string;
  readonly launcher: Launcher;
  readonly toolbox: Toolbox;
  readonly judge: Judge;
  /** As it is now: it changes with `engineStates`. */
  readonly catalog: () => Catalog;
  readonly engineStates: EngineStates;
  /** Conversions at a time. */
  readonly slots: number;
}

export interface DirectJob {
  readonly record: JobRecord;
  /** Paths of the sources, in the order of the record's. */
  readonly paths: readonly string[];
  readonly password: string | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

export interface DirectResult {
  readonly delivery: PackedOutput;
  readonly warnings: JobRecord['warnings'];
  readonly engine: JobRecord['engine'];
}

export interface DirectConversions {
  /** Starts what an engine keeps running, while the file that will probably need it is still being looked at. */
  prepare(engine: Engine, toolchain: Toolchain): Promise<void>;
  /** @param take is given the result, which goes when it has ended @throws Failure `CONVERSION_FAILED` */
  run<T>(job: DirectJob, take: (result: DirectResult) => Promise<T>): Promise<T>;
  /** Ends all programs. What still runs fails. */
  close(): Promise<void>;
}

interface Place {
  readonly slot: Slot;
  readonly stepper: Stepper;
  readonly residents: RenewableResidents;
  readonly proofs: Map<string, Proof>;
}

/** Slots are opened as they are needed: one file has no use for the others. */
export function openDirect(deps: DirectDeps): DirectConversions {
  const { settings, workDir, launcher, toolbox, judge, catalog, engineStates: states, slots } = deps;
  const { conversionBytes, warmBytes } = memoryOf(settings, slots);
  const disk = diskShareOf(settings.dirBytes, slots);
  const free: Place[] = [];
  const all: Promise<Place>[] = [];
  const waiting: ((place: Place) => void)[] = [];
  let opens = 0;

  const openPlace = async (index: number): Promise<Place> => {
    const slot = await openSlot(workDir, index);
    const residents = renewableResidents(() =>
      openResidents({ launcher, slot, perLife: settings.residents.perLife, leakBytes: warmBytes }),
    );
    return { slot, residents, stepper: createStepper({ toolbox, slot, residents, judge }), proofs: new Map() };
  };
  const take = (): Promise<Place> => {
    const place = free.pop();
    if (place !== undefined) return Promise.resolve(place);
    if (all.length >= slots) return new Promise((resolve) => waiting.push(resolve));
    // Slot 0 has read the programs' versions.
    const opened = openPlace(++opens);
    all.push(opened);
    // One that cannot be opened leaves its place to the next.
    opened.catch(() => all.splice(all.indexOf(opened), 1));
    return opened;
  };
  const giveBack = (place: Place): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(place);
    else next(place);
  };

  const limitsIn = (toolchain: Toolchain) => slotLimits(toolchainRow(toolchain).bounds, settings, conversionBytes, disk);

  const convertIn = async <T>(place: Place, job: DirectJob, deliver: (result: DirectResult) => Promise<T>): Promise<T> => {
    const { slot, stepper, residents, proofs } = place;
    const { record, paths, password, signal, onProgress } = job;
    const limits = limitsIn(record.pool as Toolchain);
    const hopDeps = { slot, stepper, judge, limits };
    const proof = proofs.getOrInsertComputed(record.pool, () =>
      proofIn({
        runTrial: (engine, trial, stop) => runTrial(hopDeps, engine, trial, stop),
        states,
        toolbox,
        renewResidents: residents.renew,
        machineFault: async () => undefined,
      }),
    );
    const base = await slot.makeFolder('job');
    const folder = await slot.makePrivateFolder('delivery');
    try {
      const sources = [];
      for (const [index, { format }] of record.sources.entries()) {
        const path = join(base, sourceName(index, record.sources.length, format));
        await copyFile(paths[index] ?? '', path, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
        // A copy has the mode of its source.
        await chmod(path, 0o600);
        slot.own(path);
        sources.push({ format, path });
      }
      signal.throwIfAborted();
      const context = { base, folder, password, signal, onProgress };
      const { result, delivery } = await runJob({ ...hopDeps, proof, states, catalog: catalog() }, record, sources, context);
      const warnings = [...record.warnings, ...result.warnings, ...delivery.warnings];
      return await deliver({ delivery, warnings, engine: result.engine });
    } finally {
      await slot.removeFolder(folder);
      await slot.removeFolder(base);
    }
  };

  return {
    async prepare(engine, toolchain) {
      const place = await take();
      place.stepper.prepare(engine, limitsIn(toolchain));
      giveBack(place);
    },
    async run(job, deliver) {
      const place = await take();
      try {
        if (job.signal.aborted) throw conversionFailed('cancelled');
        return await convertIn(place, job, deliver);
      } finally {
        giveBack(place);
      }
    },
    async close() {
      await Promise.all(all.map(async (opened) => (await opened.catch(() => undefined))?.residents.close()));
    },
  };
}
