/** Runs a tool that has its own plan: inspects every source, makes one plan for all, and checks every result. */
import { join } from 'node:path';
import { isInspected } from '../../catalog/engine.ts';
import { noticedIn } from '../../catalog/planning/noticed.ts';
import { type Input, inspectionOf, type Method, type ToolSource } from '../../catalog/tool.ts';
import { namingEngine } from '../failure.ts';
import { type ConversionResult, type ConvertDeps, type SourceFile, unique } from './convert.ts';
import { judgeAll } from './judge.ts';
import { writePasswordFile } from './password.ts';
import { carryOut, limitsFor } from './run-hop.ts';

export interface ToolWork {
  readonly slug: string;
  readonly method: Method;
  /** Those that take over, in order, where a file does not fit. */
  readonly others?: readonly Method[];
  /** Absolute path of the job's folder, which belongs to the slot's user; the sources lie in it. */
  readonly base: string;
  readonly sources: readonly SourceFile[];
  /** Canonical id. */
  readonly target: string;
  readonly input: Input;
  readonly password: string | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
}

/** @throws Failure `CONVERSION_FAILED` */
export const convertWithTool = (deps: ConvertDeps, work: ToolWork): Promise<ConversionResult> =>
  namingEngine(work.method.engine, () => deps.proof.check(work.method.engine, wayOf(work), work.signal, () => runPlan(deps, work)));

const wayOf = ({ sources: [first], target }: ToolWork) => ({ source: first?.format ?? '', target });

async function runPlan(deps: ConvertDeps, work: ToolWork): Promise<ConversionResult> {
  const { catalog, slot, stepper, judge, limits } = deps;
  const { base, target, input, signal, onProgress } = work;
  const { engine, plan } = work.method;
  const inspect = inspectionOf(work.method);
  const output = join(base, 'out');
  const scratch = join(base, 'scratch');
  const passwordFile = await writePasswordFile(slot, base, work.password);
  const paths = work.sources.map(({ path }) => path);
  const where = { engine, folder: base, limits: limitsFor(engine, limits, paths), signal, onProgress };

  const sources: ToolSource[] = [];
  for (const { format, path } of work.sources) {
    const found = await judge.lookThrough(format, path);
    const task = { source: format, target, options: {}, passwordFile };
    const stdout =
      inspect === undefined || !isInspected(inspect, format) ? undefined : (await stepper.run(inspect.step(path, task), where)).stdout;
    const inspected = stdout === undefined ? {} : await judge.factsOf({ tool: work.slug, engine: engine.id }, stdout, task);
    sources.push({ path, format, facts: { ...found, ...inspected } });
  }
  const [first] = sources;
  if (first === undefined) throw new Error('a tool without a source');
  const [next, ...others] = work.others ?? [];
  if (next !== undefined && input['model'] === undefined && work.method.fits?.(sources) === false)
    return convertWithTool(deps, { ...work, method: next, others });
  for (const path of [output, scratch]) slot.makeOwned(path);
  const task = { input: first.path, output, passwordFile };
  const allWarnings = await carryOut(stepper, plan({ sources, target, input, output, scratch, passwordFile }), (place, count) => ({
    ...where,
    onProgress: (fraction) => onProgress((place + Math.min(1, fraction)) / count),
    task,
  }));
  const names = await judgeAll(judge, base, output, target);
  return {
    base,
    files: names.map((name) => ({ folder: output, name, label: names.length === 1 ? '' : name.replace(/\.[^.]*$/, '') })),
    warnings: unique([...sources.flatMap(({ facts }) => noticedIn(facts)), ...allWarnings]),
    engine: { name: engine.name, version: catalog.version(engine.id) },
  };
}
