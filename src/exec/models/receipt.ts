/** What a model's own files had for digests when they were made here, of weights that were checked: the manifest cannot name them. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { hashOf } from './hash.ts';
import type { Model } from './manifest.ts';

const NAME = 'receipt.json';
const receiptSchema = z.object({
  /** SHA-256 of what they were made of. */
  of: z.string(),
  files: z.record(z.string(), z.object({ bytes: z.number(), sha256: z.string() })),
});
type Receipt = Readonly<z.infer<typeof receiptSchema>>;

const madeIn = ({ files }: Pick<Model, 'files'>): readonly string[] => files.flatMap((file) => ('made' in file ? [file.name] : []));

/** @param folder absolute path of the model's files */
export async function writeReceipt(model: Pick<Model, 'files' | 'converted'>, folder: string, signal: AbortSignal): Promise<void> {
  const files: Record<string, { bytes: number; sha256: string }> = {};
  for (const name of madeIn(model))
    files[name] = { bytes: (await stat(join(folder, name))).size, sha256: await hashOf(join(folder, name), signal) };
  if (Object.keys(files).length > 0)
    await writeFile(join(folder, NAME), JSON.stringify({ of: model.converted?.from.sha256 ?? '', files }), { mode: 0o644 });
}

/** @returns what its made files should be; undefined where none were made, or of other weights than the manifest names */
export async function readReceipt(model: Pick<Model, 'files' | 'converted'>, folder: string): Promise<Receipt['files'] | undefined> {
  if (madeIn(model).length === 0) return {};
  const text = await readFile(join(folder, NAME), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { of, files } = receiptSchema.parse(JSON.parse(text));
    return of === model.converted?.from.sha256 ? files : undefined;
  } catch {
    return undefined;
  }
}
