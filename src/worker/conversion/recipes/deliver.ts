/** Packs what a recipe keeps: for each named result its file, or a ZIP of its files; of several results one ZIP, in which each lies uncompressed and can be read alone. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { formatOf } from '../../../catalog/formats.ts';
import { distinctNames, numberedNames, resultName } from '../../../catalog/names.ts';
import type { Recipe } from '../../../catalog/recipes/recipe.ts';
import type { StoredPart } from '../../../jobs/record.ts';
import { zipStream } from '../../../objects/zip.ts';
import type { PackedOutput } from '../output.ts';
import type { KeptFile, KeptFiles } from './kept.ts';

interface Delivery {
  readonly output: Omit<PackedOutput, 'warnings'>;
  readonly parts: readonly StoredPart[];
}

/** A named result as a separate file. */
export interface DeliveredResult extends Omit<StoredPart, 'start'> {
  readonly path: string;
}

/** @param folder absolute path, empty @param suffix of the names of outputs */
export async function deliver(
  folder: string,
  recipe: Recipe,
  kept: KeptFiles,
  sourceName: string,
  suffix: string | undefined,
  signal: AbortSignal,
): Promise<Delivery> {
  const results = await resultsIn(folder, recipe, kept, suffix, signal);
  const [only] = results;
  if (only !== undefined && results.length === 1) return { output: only, parts: [{ ...partOf(only), start: 0 }] };
  const path = join(folder, 'all');
  await writeZip(
    path,
    results.map(({ path: from, filename }) => ({ path: from, name: filename })),
    signal,
  );
  const starts = await startsIn(
    path,
    results.map(({ sizeBytes }) => sizeBytes),
  );
  const files = results.reduce((sum, result) => sum + result.files, 0);
  return {
    output: { path, filename: resultName(sourceName, 'zip', suffix), contentType: 'application/zip', files },
    parts: results.map((result, at) => ({ ...partOf(result), start: starts[at] ?? 0 })),
  };
}

/** Each named result in a file; files that are packed are kept no more. @param folder absolute path, empty */
export async function resultsIn(
  folder: string,
  recipe: Recipe,
  kept: KeptFiles,
  suffix: string | undefined,
  signal: AbortSignal,
): Promise<readonly DeliveredResult[]> {
  const take = distinctNames();
  const results: DeliveredResult[] = [];
  for (const name of recipe.outputs) {
    const at = recipe.steps.findIndex((step) => step.name === name);
    const files = kept.of(at);
    results.push(await resultOf(join(folder, `result-${results.length}`), name, files, { take, suffix, signal }));
    // They are in the ZIP: a third copy has no room.
    if (files.length > 1) await kept.drop((step) => step !== at);
  }
  return results;
}

const partOf = ({ path: _, ...part }: DeliveredResult): Omit<StoredPart, 'start'> => part;

interface Naming {
  readonly take: ReturnType<typeof distinctNames>;
  readonly suffix: string | undefined;
  readonly signal: AbortSignal;
}

async function resultOf(
  path: string,
  name: string,
  files: readonly KeptFile[],
  { take, suffix, signal }: Naming,
): Promise<DeliveredResult> {
  const [only] = files;
  if (only === undefined) throw new Error('a result without a file');
  const named = (base: string, extension: string) => take(candidates(resultName(`${base}.${extension}`, extension, suffix), extension));
  if (files.length === 1) {
    const about = { name, filename: named(only.name, only.extension), contentType: formatOf(only.format).mime, files: 1, path: only.path };
    return { ...about, sizeBytes: only.sizeBytes, sha256: await hashOf(only.path, signal) };
  }
  const inside = distinctNames();
  await writeZip(
    path,
    files.map((file) => ({ path: file.path, name: inside(candidates(`${file.name}.${file.extension}`, file.extension)) })),
    signal,
  );
  const { size } = await stat(path);
  return {
    name,
    filename: named(name, 'zip'),
    contentType: 'application/zip',
    files: files.length,
    path,
    sizeBytes: size,
    sha256: await hashOf(path, signal),
  };
}

function* candidates(name: string, extension: string): Generator<string> {
  yield name;
  yield* numberedNames(name.slice(0, -extension.length - 1), `.${extension}`);
}

async function hashOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, { signal });
  return hash.digest('hex');
}

const writeZip = (path: string, entries: readonly { readonly path: string; readonly name: string }[], signal: AbortSignal): Promise<void> =>
  pipeline(
    zipStream(entries.map(({ path: from, name }) => ({ name, open: async () => createReadStream(from), compress: false }))),
    createWriteStream(path, { flags: 'wx' }),
    { signal },
  );

/** APPNOTE.TXT 4.3.7: the signature, and where the lengths of name and extra field are. */
const LOCAL = { signature: 0x04034b50, bytes: 30, nameAt: 26, extraAt: 28 };
/** 4.3.9: the sizes that follow a file that was streamed, in four bytes each or, as ZIP64, in eight. */
const DESCRIPTORS = [16, 24];

/** Where each entry of a ZIP begins whose entries are uncompressed. @param sizes of the entries, in order, bytes */
async function startsIn(path: string, sizes: readonly number[]): Promise<readonly number[]> {
  await using file = await open(path);
  const starts: number[] = [];
  let ends = [0];
  for (const size of sizes) {
    const start = await contentAfter(file, ends);
    starts.push(start);
    ends = DESCRIPTORS.map((bytes) => start + size + bytes);
  }
  return starts;
}

/** @param places any of which may be that of a header */
async function contentAfter(file: FileHandle, places: readonly number[]): Promise<number> {
  for (const at of places) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOCAL.bytes), 0, LOCAL.bytes, at);
    if (bytesRead === LOCAL.bytes && buffer.readUInt32LE() === LOCAL.signature)
      return at + LOCAL.bytes + buffer.readUInt16LE(LOCAL.nameAt) + buffer.readUInt16LE(LOCAL.extraAt);
  }
  throw new Error('a ZIP of another shape');
}
