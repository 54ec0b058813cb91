/** Which models are here, whole and unchanged. */
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hashOf } from './hash.ts';
import type { Model } from './manifest.ts';
import { readReceipt } from './receipt.ts';

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

/**
 * @param folders in which each model may have a folder, in order of preference
 * @param own one of them, of this installation alone: there, a file that has not changed since it was last read is not read again
 */
export async function findModels(models: readonly Model[], folders: readonly string[], own?: string): Promise<readonly InstalledModel[]> {
  const hashes = new Map(await Promise.all(folders.map(async (each) => [each, await openHashes(each, each === own)] as const)));
  const found: InstalledModel[] = [];
  for (const model of models) {
    const states: InstalledModel[] = [];
    for (const [each, known] of hashes) {
      states.push({ model, state: await stateOf(model, known, join(each, model.id)), folder: join(each, model.id) });
      if (states.at(-1)?.state === 'whole') break;
    }
    const best = (['whole', 'changed', 'missing'] as const).flatMap((state) => states.filter((each) => each.state === state));
    found.push(...best.slice(0, 1));
  }
  for (const known of hashes.values()) await known.keep();
  return found;
}

async function stateOf(model: Model, hashes: Hashes, folder: string): Promise<ModelState> {
  const made = await readReceipt(model, folder);
  for (const file of model.files) {
    const found = await hashes.of(join(model.id, file.name));
    if (found === undefined) return 'missing';
    const { bytes, sha256 } = 'made' in file ? { bytes: undefined, sha256: undefined, ...made?.[file.name] } : file;
    if (bytes !== undefined && found.bytes !== bytes) return 'changed';
    if (sha256 === undefined || (await found.sha256()) !== sha256) return 'changed';
  }
  return 'whole';
}

/** The hashes of a folder's files. */
interface Hashes {
  /** @returns undefined where there is no such file */
  of(name: string): Promise<{ readonly bytes: number; sha256(): Promise<string> } | undefined>;
  /** For the next process, where the folder can be written. */
  keep(): Promise<void>;
}

/** Hashing hundreds of megabytes takes longer than all else at the start of a process, so hashes are kept. Only a new file or a write changes `stamp`. */
const remembered = z.record(z.string(), z.object({ stamp: z.string(), sha256: z.string() }));
const REMEMBERED = '.sha256.json';

async function openHashes(folder: string, remembering: boolean): Promise<Hashes> {
  const path = join(folder, REMEMBERED);
  const known = remembering
    ? await readFile(path, 'utf8').then(
        (text) => remembered.parse(JSON.parse(text)),
        (): z.infer<typeof remembered> => ({}),
      )
    : {};
  const hashes = new Map(Object.entries(known));
  let isNew = false;
  return {
    of: async (name) => {
      const stats = await stat(join(folder, name), { bigint: true }).catch(() => undefined);
      if (stats === undefined) return undefined;
      const stamp = [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
      const sha256 = async () => {
        const before = hashes.get(name);
        if (before?.stamp === stamp) return before.sha256;
        const hash = await hashOf(join(folder, name));
        hashes.set(name, { stamp, sha256: hash });
        isNew = remembering;
        return hash;
      };
      return { bytes: Number(stats.size), sha256 };
    },
    keep: async () => {
      if (!isNew) return;
      const fresh = `${path}.${process.pid}`;
      const written = writeFile(fresh, JSON.stringify(Object.fromEntries(hashes))).then(() => rename(fresh, path));
      // On a read-only volume nothing can be kept: it is read each time.
      await written.catch(() => rm(fresh, { force: true }).catch(() => undefined));
    },
  };
}
