/** Vitest's runner, which leaves out the rows of tables that test/plan.ts does not give to a run with a seed, and notes the CPU time of each file. */
import { relative } from 'node:path';
import { type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest';
import { cpuTime, noteCpu } from './kit/exec/cpu.ts';
import { draw, type Share, shareOf } from './plan.ts';

/** Set by scripts/test.ts in `make test`, to the commit unless told otherwise. Without it every test runs. */
const seed = process.env['TEST_SEED'] ?? '';

/** What this process had taken when its last file ended. */
const noted = { seconds: 0 };

export default class DrawingRunner extends TestRunner {
  onCollected(files: RunnerTestFile[]): void {
    if (seed === '') return;
    for (const file of files) leaveOut(file, shareOf(relative(process.cwd(), file.filepath)));
  }

  override onAfterRunFiles(files: RunnerTestFile[]): void {
    super.onAfterRunFiles(files);
    // A process runs one file after another, and what one of them started has ended with it.
    const { own, children } = cpuTime();
    const sofar = own + children;
    for (const { filepath } of files) noteCpu(relative(process.cwd(), filepath), (sofar - noted.seconds) / files.length);
    noted.seconds = sofar;
  }
}

/** Tests of one suite, drawn together. */
type Drawn = RunnerTestSuite['tasks'][number];

function leaveOut(suite: RunnerTestSuite, share: Share): void {
  if (share === 'whole') return;
  const groups = typeof share === 'number' ? [suite.tasks.filter(({ type }) => type === 'test')] : tablesOf(suite);
  for (const group of groups) {
    const taken = draw(
      group.map(({ name }) => name),
      typeof share === 'number' ? share : share.rows,
      seed,
    );
    for (const [place, task] of group.entries()) if (!taken.has(place)) skip(task);
  }
  for (const task of suite.tasks) if (task.type === 'suite' && task.mode !== 'skip') leaveOut(task, share);
}

/** What each `it.each` and `describe.each` of a suite made: its rows have the place of the call. */
function tablesOf({ tasks }: RunnerTestSuite): readonly (readonly Drawn[])[] {
  // Those of a module that several files share have no place.
  const rows = tasks.filter(({ each, location }) => each === true && location !== undefined);
  return [...Map.groupBy(rows, ({ location }) => `${location?.line}:${location?.column}`).values()];
}

function skip(task: Drawn): void {
  task.mode = 'skip';
  if (task.type === 'suite') for (const child of task.tasks) skip(child);
}
