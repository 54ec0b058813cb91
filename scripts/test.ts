/** Runs every test and ends with one line that sums them: N passed, N failed. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';

const report = '.cache/test-report.json';
mkdirSync('.cache', { recursive: true });
rmSync(report, { force: true });
const { status } = spawnSync(
  'node_modules/.bin/vitest',
  ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...process.argv.slice(2)],
  { stdio: 'inherit' },
);

const {
  numPassedTests: passed,
  numFailedTests: failed,
  numTotalTestSuites: suites,
} = JSON.parse(readFileSync(report, 'utf8')) as Record<string, number>;
// A file that cannot even be loaded fails no test: the runner's own word counts as one failure then.
const failures = Math.max(failed ?? 0, status === 0 ? 0 : 1);
console.log(`${suites} suites`);
console.log(`${passed} passed, ${failures} failed`);
process.exit(status ?? 1);
