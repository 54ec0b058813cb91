/** What the commands on files start from: a bundle, as long as none of its sources has changed. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkout } from '../../kit/roles/service.ts';

const run = promisify(execFile);
const COMMAND = ['completion', 'bash'];
let folder: string;
/** A checkout whose bundle is its own: the rest is this one's. */
const bundle = () => join(folder, '.cache/command');

beforeAll(async () => {
  await run(join(checkout, 'scripts/build-command'));
  folder = await mkdtemp(join(tmpdir(), 'filemill-start-'));
  await mkdir(join(folder, '.cache'));
  await mkdir(join(folder, 'scripts'));
  // It finds its checkout by where it is itself.
  await cp(join(checkout, 'scripts/filemill'), join(folder, 'scripts/filemill'));
  for (const name of ['scripts/build-command.ts', 'src', 'node_modules', 'package.json', 'package-lock.json'])
    await symlink(join(checkout, name), join(folder, name));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const answer = async (): Promise<string> => (await run(join(folder, 'scripts/filemill'), COMMAND)).stdout;
/** Leaves of the bundle only its beginning: what else is needed comes from elsewhere. */
async function leaveTheBeginning(): Promise<void> {
  for (const name of await readdir(bundle())) if (!/^(?:start|rolldown-runtime.*)\.js$|\.json$/.test(name)) await rm(join(bundle(), name));
}

describe('a command on files', () => {
  it('says the same from the bundle, from the sources, and where there is no bundle', async () => {
    const expected = await answer();
    expect(expected).toContain('complete ');
    await cp(join(checkout, '.cache/command'), bundle(), { recursive: true });
    expect(await answer()).toBe(expected);
    const bundled = await readFile(join(bundle(), 'sources.json'), 'utf8');
    await leaveTheBeginning();
    await expect(answer()).rejects.toThrow(/ERR_MODULE_NOT_FOUND/);
    const [[path = '', mtimeMs = 0] = [], ...others] = JSON.parse(bundled) as [string, number][];
    await writeFile(join(bundle(), 'sources.json'), JSON.stringify([[path, mtimeMs - 1], ...others]));
    expect(await answer()).toBe(expected);
    await writeFile(join(bundle(), 'sources.json'), JSON.stringify([['src/gone.ts', 1], ...others]));
    expect(await answer()).toBe(expected);
  });

  it('needs far fewer files than there are sources', async () => {
    const sources = JSON.parse(await readFile(join(checkout, '.cache/command/sources.json'), 'utf8')) as [string, number][];
    const files = await readdir(join(checkout, '.cache/command'));
    expect(sources.map(([path]) => path)).toContain('src/cli/convert.ts');
    expect([sources.length > 200, files.length < 60]).toEqual([true, true]);
  });
});
