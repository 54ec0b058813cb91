/** Runs one engine on one file: inspects it, plans, carries the steps out, and checks the results. Trials take the same way as conversions. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Hop } from '../../catalog/catalog.ts';
import { type Engine, type EngineWarning, type Facts, isInspected, type Plan, type StepLimits, type Task } from '../../catalog/engine.ts';
import { largestFrame } from '../../catalog/planning/bounds.ts';
import { toUtf8 } from '../../catalog/planning/documents/text.ts';
import { requireMemory } from '../../catalog/planning/encoders.ts';
import { pictureOf } from '../../catalog/planning/headers/picture.ts';
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
  /** Absolute path of a folder below `base`: it is created, and nothing but the results lies in it. */
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
  const output = folder;
  slot.makeOwned(output);
  const scratch = madeWhenAsked(slot, `${folder}-scratch`);
  const where = { engine, folder: base, limits: limitsFor(engine, limits, [run.input]), signal, onProgress };
  const warnings: EngineWarning[] = [];
  let { input } = run;
  const files = { source, target, options, output, passwordFile };
  if (engine.readsUtf8?.has(source) && (options.charset !== undefined || !(await isUtf8Text(input)))) {
    const copy = join(scratch(), `utf8.${source}`);
    warnings.push(...(await stepper.runStep(toUtf8({ ...files, input }, copy), { ...where, task: { ...files, input } })));
    input = copy;
  }
  const task: Omit<Task, 'facts' | 'scratch'> = { ...files, input };
  let facts = found;
  refuseLonger(engine, found);
  if (engine.inspect !== undefined && isInspected(engine.inspect, source)) {
    const { stdout } = await stepper.run(engine.inspect.step(input, task), where);
    facts = { ...found, ...(await judge.factsOf({ engine: engine.id }, stdout, task)) };
    const pixels = largestFrame(facts);
    if (maxPixels !== undefined && pixels !== undefined && pixels > maxPixels) throw inputLimit('pixels', maxPixels, pixels);
  }
  const planned: Task = {
    ...task,
    facts,
    get scratch() {
      return scratch();
    },
  };
  warnings.push(...(await carryOut(stepper, engine.plan(planned), () => ({ ...where, task }))));
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
      // The result has passed its checks: only the receipt lacks its properties.
      if (signal.aborted || !(error instanceof Failure)) throw error;
      return {};
    }
  }
}

/** Most plans ask for no folder to work in, and what is not made need not be removed. */
function madeWhenAsked(slot: Slot, path: string): () => string {
  let isMade = false;
  return () => {
    if (!isMade) slot.makeOwned(path);
    isMade = true;
    return path;
  };
}

/** @throws Failure `input_limit`, with the limit, which programs do not name */
function refuseLonger({ longestSide }: Engine, found: Facts): void {
  const picture = pictureOf(found);
  const side = picture === undefined ? 0 : Math.max(picture.width, picture.height);
  if (longestSide !== undefined && side > longestSide) throw inputLimit('side in pixels', longestSide, side);
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
  // Several steps may give the same warning about one file.
  const add = (more: readonly EngineWarning[]) =>
    all.push(...more.filter(({ message }) => !all.some((known) => known.message === message)));
  for (const [place, step] of steps.entries()) add(await stepper.runStep(step, whereOf(place, steps.length)));
  if (next === undefined) return all;
  const { stdout, stderr } = await stepper.run(next.look, whereOf(steps.length, steps.length));
  add(await carryOut(stepper, next.plan(next.onStderr ? stderr : stdout.toString()), whereOf));
  return all;
}

/** The limits of one step: the tightest of what the operator allows, what the engine asks for, and the time that files of this size need. */
export function limitsFor(engine: Engine, allowed: StepLimits, paths: readonly string[]): StepLimits {
  const wallMs = runTimeMs(
    engine.role,
    paths.reduce((sum, path) => sum + statSync(path).size, 0),
  );
  return tighter(tighter(allowed, engine.limits), { wallMs });
}

function tighter(allowed: StepLimits, asked: Partial<StepLimits> = {}): StepLimits {
  const names = Object.keys(allowed) as (keyof StepLimits)[];
  return Object.fromEntries(names.map((name) => [name, Math.min(allowed[name], asked[name] ?? allowed[name])])) as unknown as StepLimits;
}
