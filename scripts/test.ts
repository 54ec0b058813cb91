/** Runs every test and ends with what failed, what took longest, and one line that sums all: N passed, N failed. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';

/** What is read of Vitest's JSON report (https://vitest.dev/guide/reporters#json-reporter). */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numTotalTestSuites: number;
  readonly testResults: readonly TestFile[];
  /** Vitest's own: it also fails for an error outside of any test. */
  readonly exitCode: number;
}
interface TestFile {
  readonly name: string;
  readonly status: 'passed' | 'failed';
  /** ms since 1970 */
  readonly startTime: number;
  readonly endTime: number;
  readonly message: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string; readonly failureMessages: readonly string[] }[];
}

/** More than so many failing files are no accident: nothing is run again. */
const MOST_FILES_AGAIN = 6;
/** When a second run has to have ended, ms after the start: CI allows 90 minutes for everything. */
const DEADLINE_MS = 75 * 60_000;
const SLOWEST = 8;

const startedAt = Date.now();
const args = process.argv.slice(2);
mkdirSync('.cache', { recursive: true });

/** @returns undefined where Vitest wrote no report: it could not start, or ran out of time */
function runTests(report: string, more: readonly string[], timeoutMs?: number): Report | undefined {
  rmSync(report, { force: true });
  const command = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...more];
  const { status } = spawnSync('node_modules/.bin/vitest', command, {
    stdio: 'inherit',
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  try {
    return { ...(JSON.parse(readFileSync(report, 'utf8')) as Omit<Report, 'exitCode'>), exitCode: status ?? 1 };
  } catch {
    return undefined;
  }
}

const pathOf = ({ name }: TestFile): string => relative(process.cwd(), name);
const failedFiles = ({ testResults }: Report): readonly TestFile[] => testResults.filter(({ status }) => status === 'failed');
const firstLine = (text: string | undefined): string => (text ?? '').split('\n', 1)[0]?.slice(0, 300) ?? '';

/** One line for each failed test; for a file that could not be loaded, one for the file. */
const failuresOf = (file: TestFile): readonly string[] => {
  const failed = file.assertionResults.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return [`${pathOf(file)}: ${firstLine(file.message) || 'the file did not run to its end'}`];
  return failed.map(({ fullName, failureMessages }) => `${pathOf(file)} > ${fullName}: ${firstLine(failureMessages[0])}`);
};

const first = runTests('.cache/test-report.json', args);
if (first === undefined) {
  console.log('the tests could not be run\n0 passed, 1 failed');
  process.exit(1);
}

const suspects = failedFiles(first);
const remainingMs = DEADLINE_MS - (Date.now() - startedAt);
const isWorthRepeating = suspects.length > 0 && suspects.length <= MOST_FILES_AGAIN && remainingMs > 0;
if (isWorthRepeating) console.log(`\n${suspects.length} of the files failed beside others: once more, one at a time`);
const second = isWorthRepeating
  ? runTests('.cache/test-report-again.json', ['--maxWorkers=1', ...suspects.map(pathOf)], remainingMs)
  : undefined;

// A file counts as what it was when it ran by itself.
const last = new Map([...first.testResults, ...(second?.testResults ?? [])].map((file) => [file.name, file]));
const stray = [first, second].some((report) => report !== undefined && report.exitCode !== 0 && failedFiles(report).length === 0);
const failures = [
  ...[...last.values()].filter(({ status }) => status === 'failed').flatMap(failuresOf),
  ...(stray ? ['an error outside of any test: see above'] : []),
];
const unsteady = suspects.filter(({ name }) => last.get(name)?.status === 'passed').flatMap(failuresOf);
const passed = [...last.values()].flatMap(({ assertionResults }) => assertionResults.filter(({ status }) => status === 'passed')).length;

const secondsOf = ({ startTime, endTime }: TestFile): number => Math.round((endTime - startTime) / 1000);
const slowest = first.testResults.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, SLOWEST);
console.log(
  `${first.numTotalTestSuites} suites; the slowest files: ${slowest.map((file) => `${pathOf(file)} ${secondsOf(file)} s`).join(', ')}`,
);
for (const line of unsteady) console.log(`UNSTEADY, failed beside others and passed alone: ${line}`);
for (const line of failures) console.log(`FAILED ${line}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
