/** Conversions in this process without a queue: as many at a time as there are slots, each by the same steps as a worker's job. */
import { constants } from 'node:fs';
import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import type { Toolchain } from '../contracts/toolchains.ts';
import { conversionFailed } from '../errors.ts';
import type { Toolbox } from '../exec/toolbox.ts';
import type { JobRecord } from '../jobs/record.ts';
import type { Judge } from '../judge/judge.ts';
import type { ConvertDeps } from './conversion/convert.ts';
import { runJob, sourceName } from './conversion/job-handler.ts';
import type { PackedOutput } from './conversion/output.ts';
import type { DeliveredResult } from './conversion/recipes/deliver.ts';
import { runWhole } from './conversion/recipes/whole.ts';
import { createStepper, type Stepper } from './conversion/run-step.ts';
import { runTrial } from './conversion/run-trial.ts';
import type { DirectSlot, DirectSlots } from './direct-slots.ts';
import type { EngineStates } from './trials/engine-states.ts';
import { type Proof, proofIn } from './trials/proof.ts';

export interface DirectDeps {
  readonly slots: DirectSlots;
  /** One of them, whose programs may be starting. */
  readonly opened: Promise<DirectSlot> | undefined;
  readonly toolbox: Toolbox;
  readonly judge: Judge;
  /** As it is now: it changes with `engineStates`. */
  readonly catalog: () => Catalog;
  readonly engineStates: EngineStates;
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
  readonly fidelity?: JobRecord['fidelity'];
}

export interface DirectConversions {
  /** @param take is given the result, which goes when it has ended @throws Failure `CONVERSION_FAILED` */
  run<T>(job: DirectJob, take: (result: DirectResult) => Promise<T>): Promise<T>;
  /** The same for a recipe, of all pools: `take` is given each of its outputs. @throws Failure `CONVERSION_FAILED` */
  runRecipe<T>(
    job: DirectJob,
    take: (results: readonly DeliveredResult[], about: Pick<JobRecord, 'warnings' | 'engine'>) => Promise<T>,
  ): Promise<T>;
  /** Ends all programs. What still runs fails. */
  close(): Promise<void>;
}

interface OpenSlot extends DirectSlot {
  readonly stepper: Stepper;
  readonly proofs: Map<string, Proof>;
}

/** They are opened as they are needed: one file has no use for the others. */
export function openDirect({ slots, opened, toolbox, judge, catalog, engineStates: states }: DirectDeps): DirectConversions {
  const free: OpenSlot[] = [];
  const all: Promise<OpenSlot>[] = [];
  const waiting: ((place: OpenSlot) => void)[] = [];
  let first = opened;

  const openNext = async (): Promise<OpenSlot> => {
    const opening = first ?? slots.open();
    first = undefined;
    const { slot, residents } = await opening;
    return { slot, residents, stepper: createStepper({ toolbox, slot, residents, judge }), proofs: new Map() };
  };
  const take = (): Promise<OpenSlot> => {
    const place = free.pop();
    if (place !== undefined) return Promise.resolve(place);
    if (all.length >= slots.count) return new Promise((resolve) => waiting.push(resolve));
    const opening = openNext();
    all.push(opening);
    // One that cannot be opened leaves its place to the next.
    opening.catch(() => all.splice(all.indexOf(opening), 1));
    return opening;
  };
  const giveBack = (place: OpenSlot): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(place);
    else next(place);
  };

  /** What converts in this slot as one of a pool would. */
  const depsIn = ({ slot, stepper, residents, proofs }: OpenSlot, pool: string): ConvertDeps => {
    const hopDeps = { slot, stepper, judge, limits: slots.limitsIn(pool as Toolchain) };
    const proof = proofs.getOrInsertComputed(pool, () =>
      proofIn({
        runTrial: (engine, trial, stop) => runTrial(hopDeps, engine, trial, stop),
        states,
        toolbox,
        renewResidents: residents.renew,
        machineFault: async () => undefined,
      }),
    );
    return { ...hopDeps, proof, states, catalog: catalog() };
  };

  const convertIn = async <T>(place: OpenSlot, job: DirectJob, deliver: (result: DirectResult) => Promise<T>): Promise<T> => {
    const { slot } = place;
    const { record, paths, password, signal, onProgress } = job;
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
      const converted = await runJob(depsIn(place, record.pool), record, sources, context);
      return await deliver({ ...converted, warnings: [...record.warnings, ...converted.warnings] });
    } finally {
      await slot.removeFolder(folder);
      await slot.removeFolder(base);
    }
  };

  const inSlot = async <T>(job: DirectJob, work: (place: OpenSlot) => Promise<T>): Promise<T> => {
    const place = await take();
    try {
      if (job.signal.aborted) throw conversionFailed('cancelled');
      return await work(place);
    } finally {
      giveBack(place);
    }
  };

  return {
    run: (job, deliver) => inSlot(job, (place) => convertIn(place, job, deliver)),
    runRecipe: (job, deliver) => inSlot(job, (place) => runWhole(place.slot, (pool) => depsIn(place, pool), job, deliver)),
    async close() {
      const unused = first === undefined ? [] : [first];
      const closing = [...all, ...unused].map(async (opening) => {
        const place = await opening.catch(() => undefined);
        await place?.residents.close();
        // The caller removes the folder that these lie in.
        await place?.slot.settled();
      });
      await Promise.all(closing);
    },
  };
}
