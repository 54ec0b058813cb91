/** Which models are here, whole and unchanged. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Model } from './manifest.ts';

/** What was found of a model. `changed`: a file has other bytes than the manifest says. */
export type ModelState = 'whole' | 'missing' | 'changed';

export interface InstalledModel {
  readonly model: Model;
  readonly state: ModelState;
  /** Absolute path of the folder with its files; where nothing was found, the first that was looked in. */
  readonly folder: string;
}

/** Where `models pull` puts them, unless told otherwise. @param checkout absolute path of the project */
export const modelsIn = (checkout: string): string => join(checkout, '.cache/models');

/** @param folders in which each model may have a folder, in order of preference @param signal ends the reading */
export async function findModels(
  models: readonly Model[],
  folders: readonly string[],
  signal?: AbortSignal,
): Promise<readonly InstalledModel[]> {
  const found: InstalledModel[] = [];
  for (const model of models) {
    const states: InstalledModel[] = [];
    for (const each of folders) {
      const folder = join(each, model.id);
      states.push({ model, state: await stateOf(model, folder, signal), folder });
      if (states.at(-1)?.state === 'whole') break;
    }
    const best = (['whole', 'changed', 'missing'] as const).flatMap((state) => states.filter((each) => each.state === state));
    found.push(...best.slice(0, 1));
  }
  return found;
}

async function stateOf({ files }: Model, folder: string, signal?: AbortSignal): Promise<ModelState> {
  for (const { name, bytes, sha256 } of files) {
    const size = await stat(join(folder, name)).then(
      (stats) => stats.size,
      () => undefined,
    );
    if (size === undefined) return 'missing';
    if (size !== bytes || (await hashOf(join(folder, name), signal)) !== sha256) return 'changed';
  }
  return 'whole';
}

/** SHA-256 of a file, in hexadecimal. */
export async function hashOf(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, signal === undefined ? {} : { signal });
  return hash.digest('hex');
}
