/** Removing what a program left: everything goes, and the event loop of the service goes on meanwhile. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeTree } from '../../../src/exec/files/remove.ts';
import { openSlot } from '../../../src/exec/files/workspace.ts';
import { LONGEST_HOLD_MS, watchHolds } from '../../kit/exec/event-loop.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'remove-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sh = (script: string, cwd: string) => execFileSync('sh', ['-c', script], { cwd });

it.each([
  ['200,000 files', 'seq 200000 | xargs touch'],
  ['2,000 folders that hold something', 'seq 2000 | sed "s:.*:&/x:" | xargs mkdir -p'],
  ['folders in folders, 2,000 deep', `node -e 'for (let i = 0; i < 2000; i++) { fs.mkdirSync("deeper"); process.chdir("deeper"); }'`],
])(
  '%s go, without holding the event loop',
  async (_what, make) => {
    const left = join(folder, 'left');
    mkdirSync(left);
    sh(make.replace('node ', `${process.execPath} `), left);
    const holds = watchHolds();
    await removeTree(left);
    expect(holds.stop()).toBeLessThan(LONGEST_HOLD_MS);
    expect(existsSync(left)).toBe(false);
  },
  300_000,
);

it('a slot opens where a process that was killed left folders deeper than a path may be long', async () => {
  const slot = await openSlot(folder, 0);
  const left = await slot.makeFolder('job');
  const name = 'x'.repeat(250);
  const script = `for (let i = 0; i < 20; i++) { fs.mkdirSync("${name}"); process.chdir("${name}"); }`;
  execFileSync(process.execPath, ['-e', script], { cwd: left });
  await openSlot(folder, 0);
  expect(existsSync(left)).toBe(false);
});
