/** Vitest's runner, which leaves out the tests that test/plan.ts does not give to a run with a seed. */
import { relative } from 'node:path';
import { type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest';
import { draw, type Share, shareInAll, shareOf } from './plan.ts';

/** Set by scripts/test.ts in `make test`, to the commit unless told otherwise. Without it every test runs. */
const seed = process.env['TEST_SEED'] ?? '';
/** Set with the seed in a run of all files: of a table one row in so many; 0 in `make test`. */
const tableShare = Number(process.env['TEST_TABLES'] || 0);

export default class DrawingRunner extends TestRunner {
  onCollected(files: RunnerTestFile[]): void {
    if (seed === '') return;
    const shareIn = (path: string) => (tableShare > 0 ? shareInAll(path, tableShare) : shareOf(path));
    for (const file of files) leaveOut(file, shareIn(relative(process.cwd(), file.filepath)));
  }
}

/** A group of which nothing is left is left out with its hooks. */
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
  if (suite.tasks.every(({ mode }) => mode === 'skip')) suite.mode = 'skip';
}
