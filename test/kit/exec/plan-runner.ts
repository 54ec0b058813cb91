/** Carries out an engine's plan with plain child processes: for tests of engines alone, without slots and confinement. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Engine, isInspected, type Plan, type ProcessStep, type Step, type Task } from '../../../src/catalog/engine.ts';

export interface Ran {
  /** Absolute paths of the results, in the order of their names. */
  readonly files: readonly string[];
  readonly plan: Plan;
}

/** @param folder where the folders of this run are made @throws with the words of the step that failed */
export async function runPlan(
  engine: Engine,
  order: Pick<Task, 'source' | 'target' | 'input'> & Partial<Pick<Task, 'options'>>,
  folder: string,
): Promise<Ran> {
  const home = await mkdtemp(join(folder, 'run-'));
  const [output, scratch] = [join(home, 'output'), join(home, 'scratch')];
  for (const path of [output, scratch]) await mkdir(path);
  const asked = { options: {}, passwordFile: undefined, ...order };
  const facts =
    engine.inspect === undefined || !isInspected(engine.inspect, order.source)
      ? {}
      : engine.inspect.read(await runStep(engine, engine.inspect.step(order.input, asked)), asked);
  const plan = engine.plan({ ...asked, output, scratch, passwordFile: undefined, facts });
  await carryOut(plan, (step) => {
    if ('talk' in step) throw new Error(`${engine.id} talks to a program, which runs confined only`);
    return runStep(engine, 'otherwise' in step ? step.otherwise : step);
  });
  const names = (await readdir(output)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  if (names.length === 0) throw new Error('the plan left nothing');
  return { files: names.map((name) => join(output, name)), plan };
}

/** Runs all steps of a plan, and of what follows from what they made. @param run returns the standard output */
export async function carryOut(plan: Plan, run: (step: Step) => Promise<unknown>): Promise<void> {
  for (const step of plan.steps) await run(step);
  if (plan.next !== undefined) await carryOut(plan.next.plan(String(await run(plan.next.look))), run);
}

async function runStep(engine: Engine, { run, args, stdin, succeeds = [0], stdoutTo }: ProcessStep): Promise<string> {
  const program = engine.binaries[run]?.at.find((path) => existsSync(path));
  if (program === undefined) throw new Error(`no program for ${run}`);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {}).end(stdin ?? '');
  const [out, words]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => words.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code === null || !succeeds.includes(code))
    throw new Error(`${run} ${args.join(' ')}: ${code} ${Buffer.concat(words).toString().slice(0, 600)}`);
  const stdout = Buffer.concat(out);
  if (stdoutTo !== undefined) await writeFile(stdoutTo, stdout);
  return stdout.toString();
}
