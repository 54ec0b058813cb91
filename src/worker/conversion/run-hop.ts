/** Runs one engine on one file: inspects it, plans, carries the steps out, and checks the results. Trials take the same way as conversions. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hop } from '../../catalog/catalog.ts';
import { type Engine, type EngineWarning, type Facts, isInspected, type Plan, type StepLimits, type Task } from '../../catalog/engine.ts';
import { largestFrame } from '../../catalog/planning/bounds.ts';
import { toUtf8 } from '../../catalog/planning/documents/text.ts';
import { requireMemory } from '../../catalog/planning/encoders.ts';
import { runTimeMs } from '../../catalog/planning/run-time.ts';
import { Failure, inputLimit } from '../../errors.ts';
import { isUtf8Text } from '../../exec/files/utf8.ts';
import type { Slot } from '../../exec/files/workspace.ts';
import type { Judge } from '../../judge/judge.ts';
import { judgeAll } from './judge.ts';
import type { Stepper } from './run-step.ts';

export interface HopDeps {
  readonly slot: Slot;
  readonly stepper: Stepper;
  readonly judge: Judge;
  readonly limits: StepLimits;
}

export interface HopRun extends Pick<Hop, 'engine' | 'source' | 'target'>, Pick<Task, 'options' | 'input' | 'passwordFile'> {
  /** Absolute path of the folder that the programs may write to. */
  readonly base: string;
  /** Absolute path of a folder below `base`: it is created, and the results lie in it. */
  readonly folder: string;
  /** What the judge has found in the input. */
  readonly found: Facts;
  /** Pixels of a picture, where the job's tool accepts less than its engines. */
  readonly maxPixels?: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

export interface HopResult {
  /** Absolute path of the folder with the results. */
  readonly output: string;
  /** In natural order; at least one. */
  readonly names: readonly string[];
  readonly warnings: readonly EngineWarning[];
  /** What was found in the input, and in the only result where its engine inspects those. */
  readonly facts: Facts;
  readonly made: Facts;
}

/** @throws Failure `CONVERSION_FAILED` */
export async function runHop({ slot, stepper, judge, limits }: HopDeps, run: HopRun): Promise<HopResult> {
  const { engine, source, target, options, passwordFile, found, base, folder, maxPixels, signal, onProgress } = run;
  const [output, scratch] = [join(folder, 'out'), join(folder, 'scratch')];
  for (const path of [folder, output, scratch]) slot.makeOwned(path);
  const where = { engine, folder: base, limits: await limitsFor(engine, limits, [run.input]), signal, onProgress };
  const warnings: EngineWarning[] = [];
  let { input } = run;
  const files = { source, target, options, output, scratch, passwordFile };
  if (engine.readsUtf8?.has(source) && (options.charset !== undefined || !(await isUtf8Text(input)))) {
    const copy = join(scratch, `utf8.${source}`);
    warnings.push(...(await stepper.runStep(toUtf8({ ...files, input }, copy), { ...where, task: { ...files, input } })));
    input = copy;
  }
  const task: Omit<Task, 'facts'> = { ...files, input };
  let facts = found;
  if (engine.inspect !== undefined && isInspected(engine.inspect, source)) {
    const { stdout } = await stepper.run(engine.inspect.step(input, task), where);
    facts = { ...found, ...(await judge.factsOf({ engine: engine.id }, stdout, task)) };
    const pixels = largestFrame(facts);
    if (maxPixels !== undefined && pixels !== undefined && pixels > maxPixels) throw inputLimit('pixels', maxPixels, pixels);
  }
  warnings.push(...(await carryOut(stepper, engine.plan({ ...task, facts }), () => ({ ...where, task }))));
  const names = await judgeAll(judge, base, output, target);
  return { output, names, warnings, facts, made: await inspectResult() };

  async function inspectResult(): Promise<Facts> {
    const [only] = names;
    if (only === undefined || names.length > 1 || engine.inspect?.results?.has(target) !== true) return {};
    const made = { source: target, target, options: {}, passwordFile: undefined };
    try {
      const { stdout } = await stepper.run(engine.inspect.step(join(output, only), made), where);
      return await judge.factsOf({ engine: engine.id }, stdout, made);
    } catch (error) {
      // The result is good, as far as it was judged: only the receipt does not know.
      if (signal.aborted || !(error instanceof Failure)) throw error;
      return {};
    }
  }
}

/**
 * Runs the steps of a plan, and of what follows from what they made.
 * @param whereOf of a step, by its place among so many @returns warnings @throws Failure `CONVERSION_FAILED`
 */
export async function carryOut(
  stepper: Stepper,
  { steps, next, needs, warnings = [] }: Plan,
  whereOf: (place: number, count: number) => Parameters<Stepper['runStep']>[1],
): Promise<readonly EngineWarning[]> {
  requireMemory(needs, whereOf(0, steps.length).limits.memoryBytes);
  const all = [...warnings];
  // Several steps may note the same of one file.
  const add = (more: readonly EngineWarning[]) =>
    all.push(...more.filter(({ message }) => !all.some((known) => known.message === message)));
  for (const [place, step] of steps.entries()) add(await stepper.runStep(step, whereOf(place, steps.length)));
  if (next === undefined) return all;
  const { stdout } = await stepper.run(next.look, whereOf(steps.length, steps.length));
  add(await carryOut(stepper, next.plan(stdout.toString()), whereOf));
  return all;
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
