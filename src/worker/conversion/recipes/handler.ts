/** A claimed recipe: its files and what earlier stints made are fetched, its steps run, and what comes of them goes to the next pool or to the client. */
import { join } from 'node:path';
import { formatOf } from '../../../catalog/formats.ts';
import { baseName } from '../../../catalog/names.ts';
import { finish, passOn } from '../../../jobs/lifecycle.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { withinRoom } from '../../../jobs/room.ts';
import { outputKey } from '../../../objects/keys.ts';
import { download } from '../../../objects/transfer.ts';
import type { JobHandler } from '../../orders/process-order.ts';
import type { ConvertDeps } from '../convert.ts';
import { transfers, uploadResult } from '../job-handler.ts';
import { readCarried, writeCarried } from './carry.ts';
import { deliver } from './deliver.ts';
import { type KeptFiles, keptIn, mostKept } from './kept.ts';
import { neededAfter, passwordsIn, runStint, stepsReadBy } from './stint.ts';

/** All stints together; fewer where the record has less room. */
const MOST_WARNINGS = 16;

/** @param forward asks for the order of the next pool; what it misses, upkeep does later @param others handles all other jobs */
export function recipeHandler(deps: ConvertDeps, forward: (jobId: string) => Promise<void>, others: JobHandler): JobHandler {
  const { slot } = deps;
  return async (record, grant, context) => {
    const { recipe } = record;
    if (recipe === undefined) return others(record, grant, context);
    const { signal, onProgress, renewGrant, onPhase, defer } = context;
    const stint = recipe.stints[recipe.at];
    if (stint === undefined) throw new Error('a recipe without a next stint');
    const folder = await slot.makePrivateFolder('recipe');
    defer(() => slot.removeFolder(folder));
    // Not that of other jobs, which stays from job to job.
    const delivery = await slot.makePrivateFolder('recipe-delivery');
    defer(() => slot.removeFolder(delivery));
    const transfer = transfers(grant, renewGrant);

    const needed = neededAfter(recipe, recipe.at);
    const readNow = new Set(stint.runs.flatMap(([at]) => stepsReadBy(recipe, at)));
    const kept = keptIn(folder, mostKept(deps.limits.folderBytes));
    if (readNow.has(-1))
      await fetchSources(kept, record, (path, index, sizeBytes) =>
        transfer(({ inputs }) => download(inputs[index] ?? '', path, sizeBytes, signal)),
      );
    let runs = 0;
    const { carried } = recipe;
    if (carried !== undefined) {
      const path = join(delivery, 'carried');
      await transfer(({ inputs }) => download(inputs[record.sources.length] ?? '', path, carried.sizeBytes, signal));
      runs = await readCarried(path, kept, signal);
    }

    onPhase('converting');
    const all = recipe.stints.flatMap((each) => each.runs).length;
    const before = recipe.stints.slice(0, recipe.at).flatMap((each) => each.runs).length;
    const done = await runStint(deps, recipe, stint, kept, {
      needed,
      passwords: passwordsIn(grant.password),
      signal,
      onProgress: (fraction) => onProgress((before + fraction * stint.runs.length) / all),
      runs,
    });
    onPhase('packing');
    const warnings = done.warnings.slice(0, Math.max(0, MOST_WARNINGS - record.warnings.length));
    const key = outputKey(record.id, record.attempt ?? '');
    if (recipe.at + 1 < recipe.stints.length) {
      const path = join(delivery, 'carry');
      const sizeBytes = await writeCarried(path, kept, done.runs, signal);
      onPhase('uploading');
      await uploadResult(transfer, path, signal);
      // After the record is written, and this order is done.
      defer(() => forward(record.id));
      return (now, at) => withinRoom(passOn(now, at, { carried: { key, sizeBytes }, warnings: [...now.warnings, ...warnings] }));
    }
    const { output, parts } = await deliver(delivery, recipe, kept, record.filename, grant.suffix, signal);
    onPhase('uploading');
    const { sizeBytes, sha256 } = await uploadResult(transfer, output.path, signal);
    const { filename, contentType, files } = output;
    const engine = done.engine ?? { name: '', version: '' };
    const stored = { key, filename, sizeBytes, contentType, sha256, files };
    return (now, at) => withinRoom(finish(now, at, { output: stored, outputs: parts, warnings, engine }));
  };
}

async function fetchSources(
  kept: KeptFiles,
  { sources, recipe }: JobRecord,
  fetch: (path: string, index: number, sizeBytes: number) => Promise<void>,
): Promise<void> {
  for (const [order, { format, sizeBytes }] of sources.entries()) {
    const name = baseName(recipe?.names[order] ?? 'file');
    const { path } = kept.add({ step: -1, order, part: 0, format, extension: formatOf(format).id, name, sizeBytes });
    await fetch(path, order, sizeBytes);
  }
}
