/** Runs a stint of a recipe: its steps in one order in one slot. Each conversion gets a folder with nothing but its inputs, and each result is judged. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { formatByExtension } from '../../../catalog/formats.ts';
import { type Options, optionsAsJson, readOptions } from '../../../catalog/options/options.ts';
import { MAX_RUNS, takesAll, targetOf } from '../../../catalog/recipes/plan.ts';
import {
  namingStep,
  type Recipe,
  type RecipeStep,
  referencesOf,
  SENT_FILES,
  stepFields,
  TO_CONVERT,
} from '../../../catalog/recipes/recipe.ts';
import type { Stint } from '../../../catalog/recipes/stints.ts';
import { readInput, type Tool } from '../../../catalog/tool.ts';
import { toolNamed } from '../../../catalog/tools.ts';
import { conversionFailed, inputLimit } from '../../../errors.ts';
import type { JobRecord } from '../../../jobs/record.ts';
import { copyContent } from '../../../streams/short.ts';
import { type ConversionResult, type ConvertDeps, engineMissing } from '../convert.ts';
import { runWork, sourceName } from '../job-handler.ts';
import { lossesIn, receiptFor } from '../receipt.ts';
import { besideKept, filesOf, type KeptFile, type KeptFiles } from './kept.ts';

/** A stint that has run for so long begins no further conversion, ms; each has its own limit. */
const MOST_MS = 60 * 60_000;

export interface StintContext {
  /** By name of the step. */
  readonly passwords: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
  /** How far this stint is, 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  /** Conversions that earlier stints have run. */
  readonly runs: number;
}

export interface StintResult {
  readonly runs: number;
  readonly warnings: JobRecord['warnings'];
  readonly engine: JobRecord['engine'];
}

/** @param needed whether the files of a step are read after this stint @throws Failure `CONVERSION_FAILED`, `INVALID_OPTION`: its details name the step */
export async function runStint(
  deps: ConvertDeps,
  recipe: Recipe,
  stint: Stint,
  kept: KeptFiles,
  { needed, ...context }: StintContext & { readonly needed: (step: number) => boolean },
): Promise<StintResult> {
  const { signal, passwords, onProgress } = context;
  const startedAt = performance.now();
  const warnings: JobRecord['warnings'] = [];
  let [runs, engine]: [number, JobRecord['engine']] = [context.runs, undefined];
  for (const [place, [at, format]] of stint.runs.entries()) {
    const step = recipe.steps[at];
    if (step === undefined) throw new Error('a stint of another recipe');
    try {
      const inputs = inputsOf(recipe, at, kept);
      const work = workOf(deps, step);
      const calls =
        format === null
          ? [{ order: 0, files: inputs }]
          : inputs.flatMap((file, order) => (file.format === format ? [{ order, files: [file] }] : []));
      for (const [n, { order, files }] of calls.entries()) {
        if (++runs > MAX_RUNS) throw inputLimit('conversions of a recipe', MAX_RUNS, runs);
        if (performance.now() - startedAt > MOST_MS) throw conversionFailed('timeout');
        refuseFiles(work.tool, files);
        const progress = (fraction: number) => onProgress((place + (n + Math.min(1, fraction)) / calls.length) / stint.runs.length);
        progress(0);
        const done = await inOwnFolder(deps, files, async (base, sources) => {
          const { target, tool, options } = work.on(files.map((file) => file.format));
          const run = { base, password: passwords.get(step.name), signal, onProgress: progress };
          const beside = { ...deps, limits: besideKept(deps.limits, kept.bytes()) };
          const made = await runWork(beside, { target, tool, options }, sources, run);
          const about = { step: at, order, format: target.format, extension: target.extension, name: files[0]?.name ?? 'file' };
          const taken = await kept.take(made, about, signal);
          return { ...made, warnings: [...made.warnings, ...(await lossesOf(deps, made, taken))] };
        });
        engine = done.engine;
        warnings.push(...done.warnings.map(({ code, message }) => ({ code, message: `Step "${step.name}": ${message}` })));
        const count = kept.of(at).length;
        if (step.max !== undefined && count > step.max)
          throw conversionFailed('output_limit', {
            says: `It makes more files than its max_files, ${step.max}.`,
            details: { max_files: step.max },
          });
      }
    } catch (error) {
      throw namingStep(error, step.name);
    }
    const later = new Set(
      stint.runs.slice(place + 1).flatMap(([next]) => [next, ...referencesOf(recipe, next).map((reference) => reference.step)]),
    );
    await kept.drop((made) => needed(made) || later.has(made));
  }
  return { runs, warnings: [...new Map(warnings.map((warning) => [warning.message, warning])).values()], engine };
}

/** What a result has lost, as of a conversion that is a job. @throws Failure `property_lost` */
export async function lossesOf(
  { judge }: Pick<ConvertDeps, 'judge'>,
  made: ConversionResult,
  taken: readonly KeptFile[],
): Promise<JobRecord['warnings']> {
  const [only] = taken;
  if (only === undefined) return [];
  return [...lossesIn(await receiptFor(judge, made, { path: only.path, files: taken.length }, only.format))];
}

/** By name of the step, which may be that of any property of objects. @param sent as JSON */
export const passwordsIn = (sent: string | undefined): ReadonlyMap<string, string> =>
  new Map(sent === undefined ? [] : Object.entries(JSON.parse(sent) as Record<string, string>));

/** Numbers of the steps that a step reads; -1: the files that were sent. */
export const stepsReadBy = (recipe: Recipe, at: number): readonly number[] => referencesOf(recipe, at).map(({ step }) => step);

/** @returns whether the files of a step are read after the stint with this number, or are its job's outputs */
export function neededAfter(recipe: Recipe & { readonly stints: readonly Stint[] }, stint: number): (step: number) => boolean {
  const later = recipe.stints.slice(stint + 1).flatMap(({ runs }) => runs.map(([at]) => at));
  const outputs = recipe.outputs.map((name) => recipe.steps.findIndex((step) => step.name === name));
  const needed = new Set([...later, ...later.flatMap((at) => stepsReadBy(recipe, at)), ...outputs]);
  return (step) => needed.has(step);
}

const inputsOf = (recipe: Recipe, at: number, kept: KeptFiles): readonly KeptFile[] =>
  referencesOf(recipe, at).flatMap((reference) => filesOf(kept, reference, recipe.steps[reference.step]?.name ?? SENT_FILES));

interface StepWork {
  readonly tool: Tool | undefined;
  /** What a run asks for, as a job's record says it. */
  readonly on: (formats: readonly string[]) => Pick<JobRecord, 'target' | 'tool' | 'options'>;
}

/** As the API reads the same step. */
function workOf(deps: ConvertDeps, step: RecipeStep): StepWork {
  const fields = stepFields(step);
  if (step.do === TO_CONVERT) {
    const target = { format: targetOf(step), extension: extensionIn(step) };
    const options = optionsAsJson(readOptions(fields));
    return { tool: undefined, on: () => ({ target, tool: undefined, options }) };
  }
  const tool = toolNamed(step.do);
  if (tool === undefined) throw engineMissing(deps);
  const { password: _, ...input } = readInput(tool, withPassword(fields));
  const { work, slug } = tool;
  return {
    tool,
    on(formats) {
      const { target, options } =
        'convert' in work ? work.convert(formats[0] ?? '', input) : { target: work.target(formats, input), options: {} as Options };
      return { target: { format: target, extension: target }, tool: { slug, input }, options: optionsAsJson(options) };
    },
  };
}

/** A password that a tool requires was taken out of the recipe before it was stored. */
const withPassword = (fields: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  fields.has('password') ? fields : new Map([...fields, ['password', 'x']]);

/** The client's name of the target, such as jpeg. */
function extensionIn(step: RecipeStep): string {
  const sent = step.options['to_format']?.trim().toLowerCase().replace(/^\./, '') ?? '';
  return formatByExtension(sent) === undefined ? targetOf(step) : sent;
}

/** What a tool refuses of files that were sent to it holds for files that were made for it. @throws Failure `input_limit` */
function refuseFiles(tool: Tool | undefined, files: readonly KeptFile[]): void {
  if (tool === undefined) return;
  const { min, max, totalBytes } = tool.files;
  if (takesAll(tool) && (files.length < min || files.length > max)) {
    const says = `The tool ${tool.slug} takes ${min} to ${max} files; it would get ${files.length}.`;
    throw conversionFailed('input_limit', { says, details: { limit: 'files', min, max, received: files.length } });
  }
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const most = tool.bounds?.maxBytes;
  const large = most === undefined ? undefined : files.find(({ sizeBytes }) => sizeBytes > most);
  if (most !== undefined && large !== undefined) throw inputLimit('bytes', most, large.sizeBytes);
  if (totalBytes !== undefined && bytes > totalBytes) throw inputLimit('bytes of all files', totalBytes, bytes);
}

/** Programs that convert one file reach no other of the job. */
async function inOwnFolder<T>(
  { slot }: Pick<ConvertDeps, 'slot'>,
  files: readonly KeptFile[],
  work: (base: string, sources: readonly { readonly format: string; readonly path: string }[]) => Promise<T>,
): Promise<T> {
  const base = await slot.makeFolder('job');
  try {
    const sources = [];
    for (const [index, { format, path: from, sizeBytes }] of files.entries()) {
      const path = join(base, sourceName(index, files.length, format));
      await copyContent(from, path, sizeBytes);
      await chmod(path, 0o600);
      slot.own(path);
      sources.push({ format, path });
    }
    return await work(base, sources);
  } finally {
    await slot.removeFolder(base);
  }
}
