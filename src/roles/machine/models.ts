/** The models of this machine that programs can use: whole, and where converters can read them. */
import { createHash } from 'node:crypto';
import { cp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { everyoneReaches } from '../../exec/confine/stage.ts';
import { findModels, type InstalledModel, modelsIn } from '../../exec/models/installed.ts';
import { listedModels } from '../../exec/models/manifest.gen.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

interface Places {
  /** Folder of the operator, searched first. */
  readonly folder: string | undefined;
  /** Where a copy lies of those that converters cannot read. */
  readonly copies: string;
}

/** @param needed ids of the models that are looked for: no other is read @param checkout absolute path of the project @returns folders by id of the model */
export async function modelsHere(
  needed: ReadonlySet<string>,
  checkout: string,
  { folder, copies }: Places,
  log: Log,
  metrics: Pick<Metrics, 'modelsFound'>,
): Promise<ReadonlyMap<string, string>> {
  const all = listedModels.filter(({ id }) => needed.has(id));
  const found = await findModels(all, [...(folder === undefined ? [] : [folder]), modelsIn(checkout)], modelsIn(checkout));
  const whole = found.filter(({ state }) => state === 'whole');
  metrics.modelsFound(new Map(found.map(({ model, state }) => [model.id, state === 'whole'])));
  for (const { model, state } of found)
    if (state === 'changed') log.warn({ model: model.id }, 'the files of a model differ from its manifest: its tools are switched off');
  return new Map(await Promise.all(whole.map(async (each) => [each.model.id, await readable(each, join(copies, 'models'))] as const)));
}

/** As root, converters run as users without access to a private home folder. */
async function readable({ model, folder }: InstalledModel, copies: string): Promise<string> {
  if (process.getuid?.() !== 0 || everyoneReaches(folder)) return folder;
  const copy = join(
    copies,
    `${model.id}-${createHash('sha256')
      .update(JSON.stringify([model.files, model.converted]))
      .digest('hex')
      .slice(0, 16)}`,
  );
  if ((await stat(copy).catch(() => undefined)) !== undefined) return copy;
  const fresh = `${copy}.${process.pid}`;
  await cp(folder, fresh, { recursive: true });
  await rename(fresh, copy).catch(async (error: unknown) => {
    await rm(fresh, { recursive: true, force: true });
    // Another process was faster.
    if ((await stat(copy).catch(() => undefined)) === undefined) throw error;
  });
  return copy;
}
