/** What `make release` refuses, and that one version stands everywhere. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ReleaseFacts, refusals } from '../../../scripts/release.ts';
import { changesOf, isLater, VERSION, versionsFound } from '../../../scripts/versions.ts';

const CHANGELOG = `# Changelog

## [0.3.0] - unreleased

- later

## [0.2.0] - 2026-12-01

### Added

- a thing

## [0.1.0] - 2026-11-01

- the first
`;
const facts = (change: Partial<ReleaseFacts> = {}): ReleaseFacts => ({
  version: '0.2.0',
  changed: [],
  commit: 'a'.repeat(40),
  released: ['0.1.0', '0.1.10', '0.1.9'],
  changelog: CHANGELOG,
  versions: [{ file: 'package.json', version: '0.2.0' }],
  documentsAgree: true,
  passed: 'a'.repeat(40),
  ...change,
});

describe('a release', () => {
  it('is not refused where all is in order', () => expect(refusals(facts())).toEqual([]));

  it.each<[string, Partial<ReleaseFacts>, string]>([
    ['files that differ', { changed: ['README.md'] }, '1 files differ from the commit: README.md; commit or remove them'],
    [
      'a version that is released',
      { version: '0.1.10', versions: [], changelog: CHANGELOG.replace('0.1.0]', '0.1.10]') },
      '0.1.10 is not later than 0.1.10, which is released',
    ],
    ['an earlier version', { version: '0.1.0', versions: [] }, '0.1.0 is not later than 0.1.10, which is released'],
    [
      'a chart of another version',
      { versions: [{ file: 'charts/filemill/Chart.yaml', version: '0.1.0' }] },
      'another version stands in charts/filemill/Chart.yaml (0.1.0); run: make version VERSION=0.2.0',
    ],
    [
      'no section of the changelog',
      { changelog: '# Changelog\n' },
      'CHANGELOG.md has no section "## [0.2.0] - <date>"; run: make version VERSION=0.2.0',
    ],
    [
      'a section without a date',
      { version: '0.3.0', versions: [] },
      'CHANGELOG.md has no section "## [0.3.0] - <date>"; run: make version VERSION=0.3.0',
    ],
    [
      'an empty section',
      { changelog: '## [0.2.0] - 2026-12-01\n\n## [0.1.0] - 2026-11-01\n' },
      'the section of 0.2.0 in CHANGELOG.md is empty',
    ],
    [
      'an API that differs from the released document',
      { documentsAgree: false },
      'docs/openapi.released.json is not docs/openapi.json; run: make version VERSION=0.2.0',
    ],
    [
      'tests that passed on another commit',
      { passed: 'b'.repeat(40) },
      `all tests have not passed on this commit (last on ${'b'.repeat(40)}); run: .ci/run`,
    ],
    ['tests that never passed', { passed: undefined }, 'all tests have not passed on this commit (last on none); run: .ci/run'],
    ['no version', { version: '' }, 'VERSION=: expected a version such as 0.2.0'],
  ])('is refused for %s', (_, change, sentence) => expect(refusals(facts(change))).toEqual([sentence]));

  it('is told all that is wrong at once', () => expect(refusals(facts({ changed: ['a'], passed: undefined }))).toHaveLength(2));

  it('has its section of the changelog as the message of its tag', () =>
    expect([changesOf(CHANGELOG, '0.2.0'), changesOf(CHANGELOG, '0.1.0'), changesOf(CHANGELOG, '0.2')]).toEqual([
      '### Added\n\n- a thing',
      '- the first',
      undefined,
    ]));
});

describe('the notes of a release', () => {
  it('are printed for a version that the changelog has, dated', () => {
    const notes = (of: string) => execFileSync('node', ['scripts/release.ts', of, '--notes'], { encoding: 'utf8', stdio: 'pipe' });
    expect(() => notes('99.0.0')).toThrow('CHANGELOG.md has no section "## [99.0.0] - <date>"');
  });
});

describe('versions', () => {
  it.each([
    ['0.2.0', '0.1.9', true],
    ['0.10.0', '0.9.0', true],
    ['1.0.0', '1.0.0-rc.1', true],
    ['1.0.0-rc.10', '1.0.0-rc.9', true],
    ['1.0.0-rc.1', '1.0.0', false],
    ['0.1.0', '0.1.0', false],
    ['0.1.0', '0.1.1', false],
  ])('%s is later than %s: %s', (version, than, later) => expect(isLater(version, than)).toBe(later));

  it.each([
    ['0.1.0', true],
    ['1.0.0-rc.1', true],
    ['v0.1.0', false],
    ['0.1', false],
    ['01.1.0', false],
    ['0.1.0; rm', false],
  ])('%s is one: %s', (version, isOne) => expect(VERSION.test(version)).toBe(isOne));

  it('are the same in packages, chart, compose file, manifests and docs', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const found = versionsFound();
    expect(found.filter((each) => each.version !== version)).toEqual([]);
    expect(found.map(({ file }) => file)).toEqual(
      expect.arrayContaining([
        'package.json',
        'package-lock.json',
        'clients/typescript/package.json',
        'server.json',
        'charts/filemill/Chart.yaml',
        'docs/operating/install.md',
        'CONTRIBUTING.md',
      ]),
    );
    expect(found.length).toBeGreaterThan(30);
    for (const file of globSync(['compose*.yaml', 'deploy/**/*.{yaml,yml,xml}'])) {
      const times = readFileSync(file, 'utf8').split(new RegExp(`(?<![\\d.])${RegExp.escape(version)}(?![\\d.])`)).length - 1;
      expect([file, found.filter((each) => each.file === file).length]).toEqual([file, times]);
    }
  });
});
