/**
 * Runs the tests and ends with what failed, what took longest, and one line that sums all: N passed, N failed.
 *
 *   test.ts            every file, and of long tables the rows that a seed draws (the commit, or TEST_SEED), as test/plan.ts says
 *   test.ts --changed  with the same draw, the files that the changes since `main` concern
 *   test.ts --all      every test
 *   test.ts FILE …     these files, whole
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { changedTests } from './changed-tests.ts';
import { serversFor, startsServer } from './test-servers.ts';
import { record, tooOften } from './unsteady.ts';

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
const MOST_FILES_AGAIN = 12;
/** When a second run has to have ended, ms after the start, unless TEST_UNTIL says it (.ci/run): seconds since 1970. */
const LONGEST_MS = 75 * 60_000;
const SLOWEST = 10;
/** A file that takes longer says at its top why: `Slow: …` (test/unit/project/plan.test.ts). */
const SLOW_S = 60;
/** They look at what their own process holds or takes, or wait for it: each has a process of its own. */
const ALONE = [
  'test/integration/api/floods.test.ts',
  'test/integration/api/hang-ups.test.ts',
  'test/integration/api/intake-bounds.test.ts',
  'test/integration/api/intake-cost.test.ts',
  'test/integration/exec/fresh-process.test.ts',
  'test/integration/exec/model-residents.test.ts',
  'test/integration/exec/residents.test.ts',
  'test/integration/exec/residents-http.test.ts',
  'test/integration/mcp/memory.test.ts',
  'test/unit/streams/streams.test.ts',
];

/** Lines of seconds and what took them: a test file, or what files share. */
const CPU_TIMES = '.cache/test-cpu.txt';

const startedAt = Date.now();
const deadline = Number(process.env['TEST_UNTIL'] || 'NaN') * 1_000 || startedAt + LONGEST_MS;
/** Not 0, which is no limit. */
const remainingMs = (): number => Math.max(1, deadline - Date.now());
const options = process.argv.slice(2);
const isOption = (option: string) => option.startsWith('--');
const named = options.filter((option) => !isOption(option));
const onlyChanged = options.includes('--changed');
const args = onlyChanged ? changedTests() : named;
const seed = named.length > 0 || options.includes('--all') ? '' : process.env['TEST_SEED'] || commit();
if (onlyChanged) console.log(`tests: the changes since main concern ${args.length} files${args.map((file) => `\n  ${file}`).join('')}`);
if (onlyChanged && args.length === 0) done(0, 0);
if (seed !== '')
  console.log(`tests: every file, and of long tables at least one row of each group, by TEST_SEED=${seed}; make test-all runs all`);
mkdirSync('.cache', { recursive: true });
rmSync(CPU_TIMES, { force: true });

/** Waits for another build that is under way. @returns whether all are there that these files need */
async function buildServers(wanted: readonly string[]): Promise<boolean> {
  const child = spawn('scripts/build-servers', serversFor(wanted), { stdio: 'inherit', timeout: remainingMs() });
  const [status] = await once(child, 'close').catch(() => [1]);
  if (status !== 0) console.log('the servers that these tests need could not be built');
  return status === 0;
}

function done(passed: number, failed: number): never {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

/** Outside of a checkout every run draws the same. */
function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'none';
  }
}

/** @param lane which of the runs beside each other it is: their servers take other ports @param by the seed of a draw, `''`: every test @returns undefined where Vitest wrote no report: it could not start, or ran out of time */
async function runTests(report: string, more: readonly string[], { lane = 0, by = seed } = {}): Promise<Report | undefined> {
  rmSync(report, { force: true });
  const command = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...more];
  const env = { ...process.env, TEST_LANE: String(lane), TEST_SEED: by, TEST_CPU: CPU_TIMES };
  const child = spawn('node_modules/.bin/vitest', command, { stdio: 'inherit', timeout: remainingMs(), env });
  const [status] = await once(child, 'close').catch(() => [1]);
  try {
    return { ...(JSON.parse(readFileSync(report, 'utf8')) as Omit<Report, 'exitCode'>), exitCode: Number(status ?? 1) };
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

/** Seconds of CPU by folder, the most first. */
function cpuByFolder(): readonly string[] {
  const lines = readFileSync(CPU_TIMES, 'utf8').trimEnd().split('\n');
  const times = lines.map((line) => ({ seconds: Number.parseFloat(line), what: line.slice(line.indexOf(' ') + 1) }));
  const folders = Map.groupBy(times, ({ what }) => /^test\/[a-z]+(?=\/)(?:\/[a-z]+(?=\/))?/.exec(what)?.[0] ?? what);
  const sums = [...folders].map(([folder, those]) => [folder, those.reduce((sum, { seconds }) => sum + seconds, 0)] as const);
  const all = times.reduce((sum, { seconds }) => sum + seconds, 0);
  return [`${Math.round(all)} s in all`, ...sums.toSorted((a, b) => b[1] - a[1]).map(([folder, sum]) => `${folder} ${Math.round(sum)} s`)];
}

/** The program is loaded once for all files that a process runs: it is two thirds of what most files take. */
const TOGETHER = '--no-isolate';

/** What needs no server begins at once; servers may still be built beside it. */
function lanesOf(all: readonly string[]): Promise<Report | undefined>[] {
  const [alone, others] = [all.filter((file) => ALONE.includes(file)), all.filter((file) => !ALONE.includes(file))];
  const serving = others.filter(startsServer);
  const built = buildServers(all);
  const afterBuild = async (run: () => Promise<Report | undefined>) => ((await built) ? run() : undefined);
  return [
    runTests('.cache/test-report.json', [TOGETHER, ...others.filter((file) => !serving.includes(file))]),
    afterBuild(() => runTests('.cache/test-report-servers.json', [TOGETHER, ...serving], { lane: 1 })),
    afterBuild(() => runTests('.cache/test-report-alone.json', ['--maxWorkers=1', ...alone], { lane: 2 })),
  ];
}

async function namedOnly(files: readonly string[]): Promise<Report | undefined> {
  const found = globSync(files.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`)));
  return (await buildServers(found)) ? runTests('.cache/test-report.json', files) : undefined;
}

const lanes = args.length > 0 ? [namedOnly(args)] : lanesOf(globSync('{test,src}/**/*.test.ts', { exclude: ['**/node_modules/**'] }));
const reports = await Promise.all(lanes);
const runs = reports.filter((report) => report !== undefined);
const files = runs.flatMap(({ testResults }) => testResults);

const suspects = files.filter(({ status }) => status === 'failed');
const isWorthRepeating = suspects.length > 0 && suspects.length <= MOST_FILES_AGAIN && Date.now() < deadline;
if (isWorthRepeating) console.log(`\n${suspects.length} of the files failed beside others: once more, one at a time`);
// Whole: a test that another one of its file has to go before, which was not drawn, is found by this.
const again = () => runTests('.cache/test-report-again.json', ['--maxWorkers=1', ...suspects.map(pathOf)], { by: '' });
const second = isWorthRepeating ? await again() : undefined;

// A file counts as what it was when it ran by itself.
const last = new Map([...files, ...(second?.testResults ?? [])].map((file) => [file.name, file]));
const stray = [...runs, second].some((report) => report !== undefined && report.exitCode !== 0 && failedFiles(report).length === 0);
const unsteady = suspects.filter(({ name }) => last.get(name)?.status === 'passed');
const failures = [
  ...[...last.values()].filter(({ status }) => status === 'failed').flatMap(failuresOf),
  ...(stray ? ['an error outside of any test: see above'] : []),
  ...reports.flatMap((report, lane) => (report === undefined ? [`the run in lane ${lane} did not come to its end: see above`] : [])),
  ...tooOften(record(unsteady.map(pathOf), new Date(startedAt)), new Date(startedAt)),
];
const passed = [...last.values()].flatMap(({ assertionResults }) => assertionResults.filter(({ status }) => status === 'passed')).length;

const secondsOf = ({ startTime, endTime }: TestFile): number => Math.round((endTime - startTime) / 1000);
const slowest = files.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, SLOWEST);
console.log(
  `${runs.reduce((sum, { numTotalTestSuites }) => sum + numTotalTestSuites, 0)} suites; the slowest files: ${slowest.map((file) => `${pathOf(file)} ${secondsOf(file)} s`).join(', ')}`,
);
console.log(`CPU time: ${cpuByFolder().join(', ')}`);
const unexplained = files.filter((file) => secondsOf(file) > SLOW_S && !/\bSlow: /.test(readFileSync(file.name, 'utf8')));
for (const file of unexplained) console.log(`SLOW, and does not say at its top why: ${pathOf(file)} ${secondsOf(file)} s`);
for (const line of unsteady.flatMap(failuresOf)) console.log(`UNSTEADY, failed beside others and passed alone: ${line}`);
for (const line of failures) console.log(`FAILED ${line}`);
const lastedOf = ({ testResults }: Report) => Math.max(0, ...testResults.map(({ endTime }) => endTime)) - startedAt;
console.log(`the runs beside each other took ${runs.map((run) => `${Math.round(lastedOf(run) / 1000)} s`).join(' and ')}`);
done(passed, failures.length);
