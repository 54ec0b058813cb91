/** Runs the hops of one job's route in turn. Every program is confined, and every result is checked before it is used. */
import { basename, join } from 'node:path';
import type { Catalog, Route } from '../../catalog/catalog.ts';
import type { EngineWarning, Facts } from '../../catalog/engine.ts';
import { areCompared } from '../../catalog/fidelity/receipt.ts';
import { baseName } from '../../catalog/names.ts';
import { lackingOptions, type Options, optionNames } from '../../catalog/options/options.ts';
import { pagesOfResults } from '../../catalog/options/pages.ts';
import { noticedIn } from '../../catalog/planning/noticed.ts';
import { ignoredOptions, optionsForHop } from '../../catalog/route.ts';
import { conversionFailed, type Failure } from '../../errors.ts';
import { EngineAbsent, namingEngine } from '../failure.ts';
import type { EngineStates } from '../trials/engine-states.ts';
import type { Proof } from '../trials/proof.ts';
import { measureByEngine, measureContents } from './measure.ts';
import { writePasswordFile } from './password.ts';
import { type HopDeps, runHop } from './run-hop.ts';

/** A source file that a converter may read. */
export interface SourceFile {
  readonly format: string;
  readonly path: string;
}

export interface ConversionWork {
  /** Absolute path of the job's folder, which belongs to the slot's user; the source lies in it. */
  readonly base: string;
  readonly source: SourceFile;
  readonly target: string;
  readonly options: Options;
  readonly password: string | undefined;
  /** Pixels of a picture, where the job's tool accepts less than its engines. */
  readonly maxPixels?: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

export interface ConversionResult {
  /** The job's folder, below which the results lie. */
  readonly base: string;
  /** In order. Open them with `exec/files/collect` only. */
  readonly files: readonly ResultFile[];
  readonly warnings: readonly EngineWarning[];
  readonly engine: { readonly name: string; readonly version: string };
  /** What the source had, and what was found in the result: for the job's receipt. Unset where there is no single source. */
  readonly found?: { readonly source: Facts; readonly result: Facts; readonly options: Options };
}

export interface ResultFile {
  readonly folder: string;
  readonly name: string;
  /** What distinguishes it from the other results: the name that the first engine with several results gave it. */
  readonly label: string;
  /** The number of the source's page, where only some pages were asked for. */
  readonly page?: number | undefined;
}

export interface ConvertDeps extends HopDeps {
  /** Replaced when an engine stops working, or works again: read it for each job. */
  readonly catalog: Catalog;
  readonly proof: Proof;
  readonly states: Pick<EngineStates, 'withdrawn'>;
}

/** A job's record has room for this many. */
const MOST_WARNINGS = 16;

/** @throws Failure `CONVERSION_FAILED` */
export async function convert(deps: ConvertDeps, work: ConversionWork): Promise<ConversionResult> {
  const { catalog, slot, judge, proof } = deps;
  const { base } = work;
  const setOptions = optionNames.filter((name) => work.options[name] !== undefined);
  const options: Options = work.password === undefined ? work.options : { ...work.options, password: work.password };
  const wanted = work.password === undefined ? setOptions : [...setOptions, 'password' as const];
  const route = catalog.route(work.source.format, work.target, wanted);
  const first = route?.hops[0]?.engine;
  if (route === undefined || first === undefined) throw engineMissing(deps);

  const warnings: EngineWarning[] = routeWarnings(route, wanted, work);
  const found = await namingEngine(first, () => judge.lookThrough(work.source.format, work.source.path));
  warnings.push(...noticedIn(found));
  const passwordFile = await writePasswordFile(slot, base, work.password);
  const reading = areCompared(work.source.format, work.target) ? readBeside(deps, work.source) : undefined;

  let [before, after]: Facts[] = [found, {}];
  let inputs: ResultFile[] = [{ folder: base, name: basename(work.source.path), label: '' }];
  for (const [index, hop] of route.hops.entries()) {
    const results: ResultFile[] = [];
    for (const [part, input] of inputs.entries()) {
      const folder = join(base, `hop-${index}-${String(part).padStart(4, '0')}`);
      const { engine, source, target } = hop;
      const done = await namingEngine(engine, () =>
        proof.check(engine, hop, work.signal, () =>
          runHop(deps, {
            engine,
            source,
            target,
            options: optionsForHop(route, index, options),
            input: join(input.folder, input.name),
            passwordFile: index === 0 ? passwordFile : undefined,
            found: index === 0 ? found : {},
            base,
            folder,
            maxPixels: work.maxPixels,
            signal: work.signal,
            onProgress: (fraction) => work.onProgress((index + (part + Math.min(1, fraction)) / inputs.length) / route.hops.length),
          }),
        ),
      );
      warnings.push(...done.warnings);
      if (index === 0) before = done.facts;
      after = done.made;
      results.push(...done.names.map((name) => ({ folder: done.output, name, label: labelOf(input.label, name, done.names.length) })));
    }
    inputs = results;
  }
  const contents = (await reading) ?? {};
  const [only] = inputs;
  const isMeasured = contents['contents'] !== undefined && only !== undefined && inputs.length === 1;
  const had = isMeasured ? await measureByEngine(deps, { ...work, ...work.source }) : {};
  const made = isMeasured ? await measureByEngine(deps, { ...work, format: work.target, path: join(only.folder, only.name) }) : {};
  const pages = work.options.pages === undefined ? undefined : pagesOfResults(work.options.pages, inputs.length);
  const files = inputs.map((file, index) => ({ ...file, page: pages?.[index] }));
  return {
    base,
    files,
    warnings: unique(warnings),
    engine: { name: first.name, version: catalog.version(first.id) },
    found: { source: { ...before, ...contents, ...had }, result: { ...after, ...made }, options },
  };
}

/** The judge reads beside the conversion. */
function readBeside({ judge }: ConvertDeps, { format, path }: SourceFile): Promise<Facts> {
  const contents = measureContents(judge, format, path);
  // A conversion that fails meanwhile does not ask for them.
  contents.catch(() => {});
  return contents;
}

/** No engine of this worker can do it now. */
export function engineMissing({ states }: Pick<ConvertDeps, 'states'>): Failure {
  const cause = new EngineAbsent();
  if (states.withdrawn.size === 0) return conversionFailed('engine_missing', { cause });
  const says = 'A program that this conversion needs does not work at present: try again later.';
  return conversionFailed('engine_missing', { says, details: { retryable: true }, cause });
}

function routeWarnings(
  route: Route,
  wanted: readonly (typeof optionNames)[number][],
  { source: { format: source }, options }: ConversionWork,
) {
  const unused = ignoredOptions(route, wanted);
  const ignored: EngineWarning[] = [
    ...unused.map((name) => ({ code: 'option_ignored', message: `The option ${name} has no effect on this conversion.` })),
    ...lackingOptions(options)
      .filter(({ name }) => !unused.includes(name))
      .map(({ name, lacks }) => ({ code: 'option_ignored', message: `The option ${name} has no effect without ${lacks}.` })),
  ];
  const losses = [...new Set(route.hops.flatMap((hop) => hop.loses))];
  const lossy =
    losses.length === 0 ? [] : [{ code: 'lossy', message: `This conversion from ${source} does not keep: ${losses.join(', ')}.` }];
  return [...ignored, ...lossy];
}

/** A file's only result keeps the file's label; several are distinguished by their names. */
const labelOf = (label: string, name: string, count: number): string =>
  [label, count === 1 ? '' : baseName(name)].filter(Boolean).join(' ');

/** Each warning once, and no more than a job's record has room for. */
export const unique = (warnings: readonly EngineWarning[]): EngineWarning[] =>
  [...new Map(warnings.map((warning) => [`${warning.code} ${warning.message}`, warning])).values()].slice(0, MOST_WARNINGS);
