/** Subjects of commits, as `make verify` judges them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultOf } from '../../../scripts/commit-subjects.ts';

describe('the subject of a commit', () => {
  it.each([
    'jobs: claim by compare-and-swap',
    'exec, worker: embed the launcher',
    'make e2e: bring up two nodes',
    'docs: focus on one task a page',
    'api: address clients by /64',
    `web: ${'x'.repeat(67)}`,
  ])('may be %j', (subject) => {
    expect(faultOf(subject)).toBeUndefined();
  });

  it.each([
    ['One count of crumbs, one bound of responses', /area/],
    ['jobs:claim', /area/],
    ['jobs: ', /area/],
    ['jobs: claimed by compare-and-swap', /"claimed"/],
    ['jobs: claiming', /"claiming"/],
    ['jobs: claims by compare-and-swap', /"claims"/],
    ['jobs: claim by compare-and-swap.', /full stop/],
    [`web: ${'x'.repeat(68)}`, /73 characters/],
  ])('may not be %j', (subject, why) => {
    expect(faultOf(subject)).toMatch(why);
  });
});

describe('the check', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'filemill-commits-'));
    copyFileSync(join(import.meta.dirname, '../../../scripts/commit-subjects.ts'), join(folder, 'commit-subjects.ts'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const check = (...base: readonly string[]) =>
    spawnSync(process.execPath, ['commit-subjects.ts', ...base], { cwd: folder, encoding: 'utf8' });

  it('passes without a history and in that of another project, and names each wrong commit', () => {
    const unchecked = { status: 0, stdout: expect.stringContaining('history is not here') };
    expect(check()).toMatchObject(unchecked);
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd: folder, encoding: 'utf8' }).trim();
    const commit = (message: string) => git('commit', '--quiet', '--allow-empty', '--message', message);
    git('init', '--quiet');
    commit('Before the rule');
    expect(check()).toMatchObject(unchecked);
    const base = git('rev-parse', 'HEAD');
    commit('jobs: claim by compare-and-swap');
    expect(check(base)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    commit('Whatever');
    commit('jobs: claimed');
    const { status, stderr } = check(base);
    expect(status).toBe(1);
    expect(stderr).toMatch(/ Whatever\n +does not begin with an area/);
    expect(stderr).toMatch(/ jobs: claimed\n +says "claimed"/);
  });
});
