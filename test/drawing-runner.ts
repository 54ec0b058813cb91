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

function leaveOut(suite: RunnerTestSuite, share: Share): void {
  if (share === 'whole') return;
  const tests = suite.tasks.filter((task) => task.type === 'test');
  const taken = draw(
    tests.map(({ name }) => name),
    share,
    seed,
  );
  for (const [place, test] of tests.entries()) if (!taken.has(place)) test.mode = 'skip';
  for (const task of suite.tasks) if (task.type === 'suite') leaveOut(task, share);
}
