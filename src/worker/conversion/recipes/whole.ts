/** A whole recipe in one slot, without a queue and a store: each step with the limits of the pool that it would run in. */
import { baseName } from '../../../catalog/names.ts';
import type { Slot } from '../../../exec/files/workspace.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { copyContent } from '../../../streams/short.ts';
import type { ConvertDeps } from '../convert.ts';
import { MAX_OUTPUT_BYTES } from '../judge.ts';
import { type DeliveredResult, resultsIn } from './deliver.ts';
import { keptIn } from './kept.ts';
import { neededAfter, passwordsIn, runStint } from './stint.ts';

interface WholeJob {
  readonly record: JobRecord;
  /** Paths of the sources, in the order of the record's. */
  readonly paths: readonly string[];
  /** Those of all steps, by name, as JSON. */
  readonly password: string | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

/** @param depsOf what converts as a pool does @param take is given the results, which go when it has ended @throws Failure `CONVERSION_FAILED`, `INVALID_OPTION` */
export async function runWhole<T>(
  slot: Slot,
  depsOf: (pool: string) => ConvertDeps,
  { record, paths, password, signal, onProgress }: WholeJob,
  take: (results: readonly DeliveredResult[], about: Pick<JobRecord, 'warnings' | 'engine'>) => Promise<T>,
): Promise<T> {
  const { recipe } = record;
  if (recipe === undefined) throw new Error('the record has no recipe');
  const folder = await slot.makePrivateFolder('recipe');
  const delivery = await slot.makePrivateFolder('delivery');
  try {
    const kept = keptIn(folder, MAX_OUTPUT_BYTES);
    for (const [order, { format, sizeBytes }] of record.sources.entries()) {
      const name = baseName(recipe.names[order] ?? 'file');
      const { path } = kept.add({ step: -1, order, part: 0, format, extension: format, name, sizeBytes });
      await copyContent(paths[order] ?? '', path, sizeBytes);
    }
    const warnings = [...record.warnings];
    let [runs, engine]: [number, JobRecord['engine']] = [0, undefined];
    for (const [at, stint] of recipe.stints.entries()) {
      const part = (fraction: number) => onProgress((at + fraction) / recipe.stints.length);
      const done = await runStint(depsOf(stint.pool), recipe, stint, kept, {
        needed: neededAfter(recipe, at),
        passwords: passwordsIn(password),
        signal,
        onProgress: part,
        runs,
      });
      warnings.push(...done.warnings);
      runs = done.runs;
      engine = done.engine;
    }
    return await take(await resultsIn(delivery, recipe, kept, undefined, signal), { warnings, engine });
  } finally {
    await slot.removeFolder(delivery);
    await slot.removeFolder(folder);
  }
}
