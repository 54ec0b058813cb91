/** Which commit a program says it was built from: by its image, its package, or its checkout, whatever the layout of the repository. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { commitOf, versionWith } from '../../../src/roles/process/program.ts';

const root = mkdtempSync(join(tmpdir(), 'filemill-commit-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const IDENTITY = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.org' };
const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: root, ...IDENTITY } }).trim();

let folders = 0;
function folderWith(packageJson: object): string {
  const folder = join(root, `checkout-${++folders}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify(packageJson));
  return folder;
}
/** A checkout with one commit. */
function repository(): { readonly folder: string; readonly commit: string } {
  const folder = folderWith({ version: '1.2.3' });
  git(folder, 'init', '--quiet', '--initial-branch', 'main');
  git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  return { folder, commit: git(folder, 'rev-parse', 'HEAD') };
}

describe('the commit', () => {
  it('is that of a checkout, on a branch', () => {
    const { folder, commit } = repository();
    expect(commitOf(folder, {})).toBe(commit);
  });

  it('is that of a checkout without a branch', () => {
    const { folder, commit } = repository();
    git(folder, 'checkout', '--quiet', '--detach');
    expect(commitOf(folder, {})).toBe(commit);
  });

  it('is that of a checkout whose branches are packed', () => {
    const { folder, commit } = repository();
    git(folder, 'pack-refs', '--all');
    expect(commitOf(folder, {})).toBe(commit);
  });

  it('is that of a worktree, which has another', () => {
    const { folder, commit } = repository();
    const beside = join(root, `beside-${folders}`);
    git(folder, 'worktree', 'add', '--quiet', '-b', 'side', beside);
    git(beside, 'commit', '--quiet', '--allow-empty', '--message', 'second');
    writeFileSync(join(beside, 'package.json'), '{}');
    expect(commitOf(beside, {})).toBe(git(beside, 'rev-parse', 'HEAD'));
    expect(commitOf(beside, {})).not.toBe(commit);
    git(folder, 'pack-refs', '--all');
    expect(commitOf(beside, {})).toBe(git(beside, 'rev-parse', 'HEAD'));
  });

  it('is that of a package, which has no repository', () =>
    expect(commitOf(folderWith({ gitHead: 'a'.repeat(40) }), {})).toBe('a'.repeat(40)));

  it('is that of an image first, with a word of files that differ', () => {
    const { folder } = repository();
    expect(commitOf(folder, { FILEMILL_COMMIT: `${'b'.repeat(40)}-changed` })).toBe(`${'b'.repeat(40)}-changed`);
  });

  it.each(['unknown', 'main', '', '<script>'])('is not what an image says by "%s"', (FILEMILL_COMMIT) => {
    const { folder, commit } = repository();
    expect(commitOf(folder, { FILEMILL_COMMIT })).toBe(commit);
  });

  it('is not known without a repository', () => expect(commitOf(folderWith({}), {})).toBeUndefined());
});

describe('a version', () => {
  it.each([
    [undefined, '0.1.0'],
    ['2b96028bcd1234567890aaaaaaaaaaaaaaaaaaaa', '0.1.0 (2b96028bcd12)'],
    ['2b96028bcd1234567890aaaaaaaaaaaaaaaaaaaa-changed', '0.1.0 (2b96028bcd12-changed)'],
  ])('with the commit %s is %s', (commit, shown) => expect(versionWith('0.1.0', commit)).toBe(shown));
});
