/** What this server converts, and its tools: asked once. */
import { signal } from '@preact/signals';
import { ask } from './client.ts';

export interface Schema {
  readonly type?: string;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly default?: string | number | boolean;
  readonly description?: string;
}
export interface Target {
  readonly format: string;
  readonly ignores?: readonly string[];
  readonly loses?: readonly string[];
}
export interface Source {
  readonly format: string;
  readonly family: string;
  readonly content_type: string;
  readonly aliases: readonly string[];
  readonly targets: readonly Target[];
}
interface Formats {
  readonly sources: readonly Source[];
  /** Those that no test of the service converts. */
  readonly unproven: readonly Source[];
  readonly options: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
  readonly option_names?: Readonly<Record<string, readonly string[]>>;
  readonly option_schemas?: Readonly<Record<string, Schema>>;
}
export interface Tool {
  readonly slug: string;
  readonly summary: string;
  readonly family: string;
  readonly available: boolean;
  readonly reason?: string;
  readonly widget?: 'crop' | 'brush' | 'pages';
  readonly accepts?: readonly string[];
  readonly files?: { readonly field: string; readonly min: number; readonly max: number };
  readonly options?: readonly { readonly name: string; readonly required: boolean; readonly schema: Schema }[];
  readonly limits?: { readonly max_bytes: number; readonly daily?: number };
}

export const formats = signal<Formats | undefined>(undefined);
export const tools = signal<readonly Tool[] | undefined>(undefined);
/** By source format: what each option does from it. */
const details = signal<ReadonlyMap<string, Source>>(new Map());

export async function loadFormats(): Promise<void> {
  formats.value ??= (await ask<Formats>('api/v1/formats')).data;
}
export async function loadTools(): Promise<void> {
  tools.value ??= (await ask<{ tools: Tool[] }>('api/v1/tools')).data.tools;
}
const asked = new Set<string>();
export async function loadDetails(format: string): Promise<void> {
  if (asked.has(format)) return;
  asked.add(format);
  const { sources, unproven } = (await ask<Formats>(`api/v1/formats?from=${encodeURIComponent(format)}`)).data;
  const found = sources[0] ?? unproven[0];
  if (found !== undefined) details.value = new Map(details.value).set(format, found);
}

/** By its name; the service looks at the content. */
export function sourceOf(name: string): Source | undefined {
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const { sources = [], unproven = [] } = formats.value ?? {};
  return [...sources, ...unproven].find(({ format, aliases }) => format === extension || aliases.includes(extension));
}

/** The format of an extension; undefined where the service makes none of it. */
export function madeFormat(extension: string): string | undefined {
  const { sources = [], unproven = [] } = formats.value ?? {};
  const all = [...sources, ...unproven];
  const id = sourceOf(`.${extension}`)?.format ?? extension;
  return all.some(({ targets }) => targets.some(({ format }) => format === id)) ? id : undefined;
}

/** Other extensions of a format that can be a source. */
export function aliasesOf(format: string): readonly string[] {
  const { sources = [], unproven = [] } = formats.value ?? {};
  return [...sources, ...unproven].find((each) => each.format === format)?.aliases ?? [];
}

const ignoredBy = (source: string | undefined, target: string): readonly string[] =>
  (source === undefined ? undefined : details.value.get(source)?.targets.find(({ format }) => format === target)?.ignores) ?? [];

/** The options that have an effect when these formats become the target. */
export function optionsOf(sources: readonly (string | undefined)[], target: string): readonly (readonly [string, Schema])[] {
  const { option_names: names = {}, option_schemas: schemas = {} } = formats.value ?? {};
  return (names[target] ?? [])
    .filter((name) => sources.length === 0 || sources.some((source) => !ignoredBy(source, target).includes(name)))
    .flatMap((name) => (schemas[name] === undefined ? [] : [[name, schemas[name]] as const]));
}
export const honours = (source: string | undefined, target: string, name: string): boolean => !ignoredBy(source, target).includes(name);

/** What most people make of a family, the most usual first. */
const USUAL: Readonly<Record<string, readonly string[]>> = {
  image: ['jpg', 'png', 'webp', 'pdf', 'avif', 'gif', 'tiff'],
  vector: ['png', 'pdf', 'jpg', 'webp'],
  audio: ['mp3', 'wav', 'm4a', 'flac', 'ogg', 'opus'],
  video: ['mp4', 'webm', 'gif', 'mp3', 'mov', 'mkv'],
  pdf: ['docx', 'jpg', 'png', 'txt', 'html'],
  document: ['pdf', 'docx', 'odt', 'html', 'txt', 'epub'],
  sheet: ['xlsx', 'csv', 'pdf', 'ods', 'html'],
  slides: ['pdf', 'pptx', 'odp', 'png', 'jpg'],
  markup: ['pdf', 'docx', 'html', 'md', 'odt', 'epub'],
};
/** The targets that most people make of the format come first. */
export function usualOf(format: string, targets: readonly string[]): readonly string[] {
  const source = sourceOf(`.${format}`);
  const usual = source === undefined ? [] : usualTargets(source).filter((each) => targets.includes(each));
  return [...usual, ...targets.filter((each) => !usual.includes(each))];
}
export function usualTargets({ family, format, targets }: Source): readonly string[] {
  const usual = (USUAL[family] ?? ['pdf', 'png', 'jpg']).filter((each) => targets.some((target) => target.format === each));
  // A file becomes something else, as a rule.
  return [...usual.filter((each) => each !== format), ...usual.filter((each) => each === format)];
}
