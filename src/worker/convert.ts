/** Runs the hops of one job's route in turn. Every program is confined, and every result is checked before it is used. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Catalog, Hop, Route } from '../catalog/catalog.ts';
import type { Engine, Facts, Plan, StepLimits, Task, Warning } from '../catalog/engine.ts';
import { baseName } from '../catalog/names.ts';
import { type Options, optionNames } from '../catalog/options/options.ts';
import { largestFrame } from '../catalog/planning/bounds.ts';
import { pagesOfResults } from '../catalog/planning/pages.ts';
import { runTimeMs } from '../catalog/planning/run-time.ts';
import { ignoredOptions, optionsForHop } from '../catalog/route.ts';
import { conversionFailed, inputLimit } from '../errors.ts';
import type { Slot } from '../exec/files/workspace.ts';
import type { Judge } from '../judge/judge.ts';
import { EngineAbsent, namingEngine } from './failure.ts';
import { refuseManyFrames } from './frames.ts';
import { judgeAll } from './judge.ts';
import { writePasswordFile } from './password.ts';
import type { Stepper } from './run-step.ts';

/** A source file that a converter may read. */
export interface Source {
  readonly format: string;
  readonly path: string;
}

export interface Work {
  /** Absolute path of the job's folder, which belongs to the slot's user; the source lies in it. */
  readonly base: string;
  readonly source: Source;
  readonly target: string;
  readonly options: Options;
  readonly password: string | undefined;
  /** Of a picture, where the job's tool takes less than its engines. */
  readonly maxPixels?: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

export interface Conversion {
  /** The job's folder, below which the results lie. */
  readonly base: string;
  /** In order. Open them with `exec/files/collect` only. */
  readonly files: readonly ResultFile[];
  readonly warnings: readonly Warning[];
  readonly engine: { readonly name: string; readonly version: string };
}

export interface ResultFile {
  readonly folder: string;
  readonly name: string;
  /** What distinguishes it from the other results: the name that the first engine with several results gave it. */
  readonly label: string;
  /** The number of the source's page, where only some pages were asked for. */
  readonly page?: number | undefined;
}

export interface ConvertDeps {
  readonly catalog: Catalog;
  readonly slot: Slot;
  readonly stepper: Stepper;
  readonly judge: Judge;
  readonly limits: StepLimits;
}

/** A job's record has room for this many. */
const MOST_WARNINGS = 16;

/** @throws Failure `CONVERSION_FAILED` */
export async function convert({ catalog, slot, stepper, judge, limits }: ConvertDeps, work: Work): Promise<Conversion> {
  const { base } = work;
  const setOptions = optionNames.filter((name) => work.options[name] !== undefined);
  const options: Options = work.password === undefined ? work.options : { ...work.options, password: work.password };
  const wanted = work.password === undefined ? setOptions : [...setOptions, 'password' as const];
  const route = catalog.route(work.source.format, work.target, wanted);
  const first = route?.hops[0]?.engine;
  if (route === undefined || first === undefined) throw conversionFailed('engine_missing', { cause: new EngineAbsent() });

  const warnings: Warning[] = routeWarnings(route, wanted, work.source.format);
  await namingEngine(first, () => refuseManyFrames(work.source.format, work.source.path));
  const passwordFile = await writePasswordFile(slot, base, work.password);

  let inputs: ResultFile[] = [{ folder: base, name: basename(work.source.path), label: '' }];
  for (const [index, hop] of route.hops.entries()) {
    const hopFolder = join(base, `hop-${index}`);
    slot.makeOwned(hopFolder);
    const results: ResultFile[] = [];
    for (const [part, input] of inputs.entries()) {
      const folder = join(hopFolder, String(part).padStart(4, '0'));
      for (const path of [folder, join(folder, 'out'), join(folder, 'scratch')]) slot.makeOwned(path);
      const task: Omit<Task, 'facts'> = {
        source: hop.source,
        target: hop.target,
        options: optionsForHop(route, index, options),
        input: join(input.folder, input.name),
        output: join(folder, 'out'),
        scratch: join(folder, 'scratch'),
        passwordFile: index === 0 ? passwordFile : undefined,
      };
      const onHopProgress = (fraction: number) =>
        work.onProgress((index + (part + Math.min(1, fraction)) / inputs.length) / route.hops.length);
      warnings.push(
        ...(await namingEngine(hop.engine, async () =>
          runHop({
            hop,
            task,
            maxPixels: work.maxPixels,
            stepper,
            judge,
            base,
            limits: await limitsFor(hop.engine, limits, [task.input]),
            signal: work.signal,
            onProgress: onHopProgress,
          }),
        )),
      );
      const names = await namingEngine(hop.engine, () => judgeAll(judge, base, task.output, hop.target));
      results.push(...names.map((name) => ({ folder: task.output, name, label: labelOf(input.label, name, names.length) })));
    }
    inputs = results;
  }
  const pages = work.options.pages === undefined ? undefined : pagesOfResults(work.options.pages, inputs.length);
  const files = inputs.map((file, index) => ({ ...file, page: pages?.[index] }));
  return { base, files, warnings: unique(warnings), engine: { name: first.name, version: catalog.version(first.id) } };
}

/** The limits of one step: the tightest of what the operator allows, what the engine asks for, and the time that files of this size need. */
export async function limitsFor(engine: Engine, allowed: StepLimits, paths: readonly string[]): Promise<StepLimits> {
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  const wallMs = runTimeMs(
    engine.role,
    sizes.reduce((sum, size) => sum + size, 0),
  );
  return tighter(tighter(allowed, engine.limits), { wallMs });
}

function tighter(allowed: StepLimits, asked: Partial<StepLimits> = {}): StepLimits {
  const names = Object.keys(allowed) as (keyof StepLimits)[];
  return Object.fromEntries(names.map((name) => [name, Math.min(allowed[name], asked[name] ?? allowed[name])])) as unknown as StepLimits;
}

interface HopRun {
  readonly hop: Hop;
  readonly task: Omit<Task, 'facts'>;
  readonly maxPixels: number | undefined;
  readonly stepper: Stepper;
  readonly judge: Judge;
  readonly base: string;
  readonly limits: StepLimits;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

async function runHop({
  hop: { engine },
  task,
  maxPixels,
  stepper,
  judge,
  base,
  limits,
  signal,
  onProgress,
}: HopRun): Promise<readonly Warning[]> {
  const where = { engine, folder: base, limits, signal, onProgress };
  let facts: Facts = {};
  if (engine.inspect !== undefined) {
    const { stdout } = await stepper.run(engine.inspect.step(task.input, task), where);
    facts = await judge.factsOf({ engine: engine.id }, stdout, task);
    const pixels = largestFrame(facts);
    if (maxPixels !== undefined && pixels !== undefined && pixels > maxPixels) throw inputLimit('pixels', maxPixels, pixels);
  }
  const plan: Plan = engine.plan({ ...task, facts });
  const warnings: Warning[] = [...(plan.warnings ?? [])];
  for (const step of plan.steps) warnings.push(...(await stepper.runStep(step, { ...where, task })));
  return warnings;
}

function routeWarnings(route: Route, wanted: readonly (typeof optionNames)[number][], source: string): Warning[] {
  const ignored = ignoredOptions(route, wanted).map((name) => ({
    code: 'option_ignored',
    message: `The option ${name} has no effect on this conversion.`,
  }));
  const losses = [...new Set(route.hops.flatMap((hop) => hop.loses))];
  const lossy =
    losses.length === 0 ? [] : [{ code: 'lossy', message: `This conversion from ${source} does not keep: ${losses.join(', ')}.` }];
  return [...ignored, ...lossy];
}

/** A file's only result keeps the file's label; several are distinguished by their names. */
const labelOf = (label: string, name: string, count: number): string =>
  [label, count === 1 ? '' : baseName(name)].filter(Boolean).join(' ');

/** Each warning once, and no more than a job's record has room for. */
export const unique = (warnings: readonly Warning[]): Warning[] =>
  [...new Map(warnings.map((warning) => [`${warning.code} ${warning.message}`, warning])).values()].slice(0, MOST_WARNINGS);
