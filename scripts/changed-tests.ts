/**
 * Which test files a change concerns, for `make test CHANGED=1`: those that import what changed, directly or not; those of the same feature; and of a member
 * of the catalogue (an engine, a tool, an option) those that name what few tests name. A guess for the time of work: `make test` runs all files.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { isWithin } from '../src/paths.ts';

/** A word that more test files have tells nothing of any of them. */
const FEW = 6;
/** Where the tests of a feature lie that reach it over HTTP, and so import nothing of it. The catalogue has a folder for all of its members. */
const FEATURES: Readonly<Record<string, string>> = {
  'src/api/mcp': 'test/integration/mcp',
  'src/api/page': 'test/integration/page',
  'src/api': 'test/integration/api',
  'src/bridge': 'test/integration/mcp',
  'src/cli': 'test/integration/cli',
  'src/controller': 'test/cluster',
  'src/fetch': 'test/integration/fetch',
  'src/limits': 'test/integration/limits',
  'src/nats': 'test/integration/nats',
  'src/roles': 'test/integration/service',
  'src/uploads': 'test/integration/uploads',
  'src/worker': 'test/integration/cluster',
  charts: 'test/cluster',
  clients: 'test/integration/clients',
  manifests: 'test/cluster',
  web: 'test/integration/page',
};
const MEMBER = /^src\/catalog\/(engines|tools|options|tool-families)\//;
const PROGRAM = /^src\/exec\/programs\/(\w+\/[\w-]+)(?:\/|\.\w+$)/;
const isTest = (path: string): boolean => path.endsWith('.test.ts');
const within = (path: string, folder: string): boolean => isWithin(folder, path);

/** @param sources texts of the modules of src, web and test by path from the top of the checkout @param changed paths, of any kind of file @returns test files, sorted */
export function testsOf(changed: readonly string[], sources: ReadonlyMap<string, string>): readonly string[] {
  const tests = [...sources.keys()].filter(isTest);
  const members = new Set(changed.flatMap((path) => (MEMBER.test(path) ? [path] : membersThatRun(path, sources))));
  const naming = [...members].flatMap((path) => namedAlike(sources.get(path) ?? '', tests, sources));
  const features = changed.flatMap((path) => {
    const feature = Object.keys(FEATURES).find((folder) => within(path, folder));
    return feature === undefined ? [] : tests.filter((test) => within(test, FEATURES[feature] ?? ''));
  });
  const importing = tests.filter((test) => [...reached(test, sources)].some((path) => changed.includes(path)));
  return [...new Set([...importing, ...features, ...naming])].toSorted();
}

/** Tests that name what few tests name of a member: where all of its words are common, those of the rarest. */
function namedAlike(text: string, tests: readonly string[], sources: ReadonlyMap<string, string>): readonly string[] {
  const found = [...new Set(wordsOf(text))]
    .map((word) => tests.filter((test) => names(sources.get(test) ?? '', word)))
    .filter((files) => files.length > 0);
  const few = Math.max(FEW, Math.min(...found.map(({ length }) => length)));
  return found.filter(({ length }) => length <= few).flat();
}

/** Members of the catalogue that name a program of src/exec/programs, or import what does. */
function membersThatRun(path: string, sources: ReadonlyMap<string, string>): readonly string[] {
  const program = PROGRAM.exec(path)?.[1];
  if (program === undefined) return [];
  const spelled = new RegExp(`[':/]${program.replaceAll(/[.+]/g, '\\$&')}(?:\\.(?:ts|py))?'`);
  const members = [...sources.keys()].filter((module) => MEMBER.test(module));
  return members.filter((member) => [...reached(member, sources)].some((module) => spelled.test(sources.get(module) ?? '')));
}

const wordsOf = (text: string): readonly string[] => [...text.matchAll(/'([a-z][\w-]{2,})'/g)].map(([, word]) => word ?? '');
const names = (text: string, word: string): boolean => new RegExp(`['"\`./ ]${word}['"\`]`).test(text);

/** A module and all that it imports. What is generated lists all members of a family, and is passed by: a test of one is found by its name. */
function reached(file: string, sources: ReadonlyMap<string, string>): ReadonlySet<string> {
  const found = new Set([file]);
  // A set is gone through with what is added meanwhile.
  for (const path of found) {
    for (const [, to = ''] of (sources.get(path) ?? '').matchAll(/(?:\bfrom|^import) '(\.{1,2}\/[^']+)'/gm)) {
      const module = join(dirname(path), to);
      if (sources.has(module) && !module.endsWith('.gen.ts')) found.add(module);
    }
  }
  return found;
}

/** Those of the changes since `main`, committed or not. @throws where there is no such branch */
export function changedTests(): readonly string[] {
  const git = (...args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
  const [base = 'main'] = git('merge-base', 'main', 'HEAD');
  const changed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')];
  const paths = globSync(['src/**/*.ts', 'test/**/*.ts', 'web/src/**/*.{ts,tsx}'], { exclude: ['**/node_modules/**'] });
  return testsOf(changed, new Map(paths.map((path) => [relative('.', path), readFileSync(path, 'utf8')])));
}
