/**
 * Checks that this commit may be a release, and tags it. Nothing leaves this machine: the tag is pushed by hand, and publishing follows from it.
 *
 *   node scripts/release.ts VERSION [--check]    --check: without the tag
 *   node scripts/release.ts VERSION --notes      prints its section of the changelog, and does nothing else
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { changesOf, isLater, VERSION, versionsFound } from './versions.ts';

/** What is known of the checkout. */
export interface ReleaseFacts {
  readonly version: string;
  /** As git prints them: files that differ from the commit, or that git does not know. */
  readonly changed: readonly string[];
  readonly commit: string;
  /** Tags of releases, without their v. */
  readonly released: readonly string[];
  readonly changelog: string;
  readonly versions: readonly { readonly file: string; readonly version: string }[];
  /** Whether the API's document is that of the latest release too. */
  readonly documentsAgree: boolean;
  /** The commit on which all tests passed last (`.ci/run`); undefined where none did. */
  readonly passed: string | undefined;
}

/** @returns what is wrong, a sentence each; none: it may be released, if the data of the release before is taken over */
export function refusals(facts: ReleaseFacts): readonly string[] {
  const { version, changed, commit, released, changelog, versions, documentsAgree, passed } = facts;
  if (!VERSION.test(version)) return [`VERSION=${version}: expected a version such as 0.2.0`];
  const changes = changesOf(changelog, version);
  const latest = released.reduce<string | undefined>((last, each) => (last === undefined || isLater(each, last) ? each : last), undefined);
  const others = versions.filter((each) => each.version !== version);
  return [
    ...(changed.length > 0
      ? [`${changed.length} files differ from the commit: ${changed.slice(0, 5).join(', ')}; commit or remove them`]
      : []),
    ...(latest !== undefined && !isLater(version, latest) ? [`${version} is not later than ${latest}, which is released`] : []),
    ...(others.length > 0
      ? [
          `another version stands in ${[...new Set(others.map(({ file, version: found }) => `${file} (${found})`))].join(', ')}; run: make version VERSION=${version}`,
        ]
      : []),
    ...(changes === undefined ? [`CHANGELOG.md has no section "## [${version}] - <date>"; run: make version VERSION=${version}`] : []),
    ...(changes === '' ? [`the section of ${version} in CHANGELOG.md is empty`] : []),
    ...(documentsAgree ? [] : [`docs/openapi.released.json is not docs/openapi.json; run: make version VERSION=${version}`]),
    ...(passed === commit ? [] : [`all tests have not passed on this commit (last on ${passed ?? 'none'}); run: .ci/run`]),
  ];
}

const git = (...args: readonly string[]): string => {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr.trim()}`);
  return stdout.trimEnd();
};
const lines = (text: string): readonly string[] => text.split('\n').filter(Boolean);
const textOf = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
};

const gather = (version: string): ReleaseFacts => ({
  version,
  changed: lines(git('status', '--porcelain')).map((line) => line.slice(3)),
  commit: git('rev-parse', 'HEAD'),
  released: lines(git('tag', '--list', 'v*'))
    .map((tag) => tag.slice(1))
    .filter((tag) => VERSION.test(tag)),
  changelog: readFileSync('CHANGELOG.md', 'utf8'),
  versions: versionsFound(),
  documentsAgree: textOf('docs/openapi.json') === textOf('docs/openapi.released.json'),
  passed: textOf('.cache/ci-passed'),
});

if (import.meta.main) {
  const [version = '', flag] = process.argv.slice(2);
  if (flag === '--notes') {
    const changes = changesOf(readFileSync('CHANGELOG.md', 'utf8'), version);
    if (changes === undefined) throw new Error(`CHANGELOG.md has no section "## [${version}] - <date>"`);
    console.log(changes);
    process.exit(0);
  }
  const facts = gather(version);
  const wrong = refusals(facts);
  for (const sentence of wrong) console.error(`release: ${sentence}`);
  if (wrong.length > 0) process.exit(1);
  console.log('release: is data of the release before taken over?');
  // In the environment of make, which knows the project's Node.
  const upgrade = spawnSync('vitest', ['run', 'test/integration/service/upgrade.test.ts'], { stdio: 'inherit' });
  if (upgrade.status !== 0) {
    console.error('release: data of the release before is not taken over: see above');
    process.exit(1);
  }
  if (flag === '--check') console.log(`release: ${facts.commit.slice(0, 12)} may be ${version}`);
  else {
    const message = `filemill ${version}\n\n${changesOf(facts.changelog, version)}`;
    // Headings begin with the sign of git's comments.
    git('tag', '--annotate', '--cleanup=whitespace', '--message', message, `v${version}`);
    console.log(`release: v${version} is tagged; publish it: git push origin v${version}`);
  }
}
