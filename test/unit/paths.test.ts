/** Paths are compared by their parts, and the bridge's folders by that. */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFolders } from '../../src/bridge/folders.ts';
import { partsBelow } from '../../src/paths.ts';

describe('a path below a folder', () => {
  it.each<[folder: string, path: string, parts: readonly string[] | undefined]>([
    ['/home/me/.git', '/home/me/.git', []],
    ['/home/me/.git', '/home/me/.git/config', ['config']],
    ['/home/me/.git', '/home/me/.git-credentials', undefined],
    ['/home/me/.git', '/home/me/.gitconfig', undefined],
    ['/home/me', '/home/me/.git-credentials', ['.git-credentials']],
    ['/a', '/ab', undefined],
    ['/a', '/', undefined],
    ['/a', '/A/b', undefined],
    ['/a/', '/a/b', ['b']],
    ['/a', '/a/', []],
    ['/a//', '//a/./b/', ['b']],
    ['/', '/a/b', ['a', 'b']],
    ['/', '/', []],
    ['/a', '/a/../b', undefined],
    ['/a', '/b/../a/c', undefined],
    ['/a/..', '/b', undefined],
    ['/a', '/a/..b', ['..b']],
    ['/a', '/a/b..', ['b..']],
    ['/a', 'a/b', undefined],
    ['a', '/a/b', undefined],
    ['a', 'a/b', ['b']],
    ['', 'a', ['a']],
    ['/a', '', undefined],
    ['/e\u0301', '/\u00e9/b', undefined],
    ['/a ', '/a /b', ['b']],
    ['/a', '/a /b', undefined],
    ['/a\\b', '/a/b', undefined],
  ])('of %j, %j: %j', (folder, path, parts) => expect(partsBelow(folder, path)).toEqual(parts));
});

describe('the folders of a bridge', () => {
  let home: string;
  beforeAll(async () => {
    home = await realpath(await mkdtemp(join(tmpdir(), 'filemill-folders-')));
    for (const name of ['.git', 'photos', 'photos-private']) await mkdir(join(home, name));
    for (const name of ['.git-credentials', '.git/config', 'photos/a.jpg', 'photos-private/b.jpg', 'c.jpg'])
      await writeFile(join(home, name), name);
    await symlink(join(home, '.git-credentials'), join(home, 'photos/link.txt'));
    await symlink(join(home, 'photos-private'), join(home, 'photos/others'));
    await symlink(join(home, 'photos'), join(home, 'shown'));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  const read = async (allowed: readonly string[], path: string): Promise<string> => {
    const folders = await openFolders(allowed.map((name) => join(home, name)));
    const { handle } = await folders.read(path.startsWith('/') ? path : join(home, path));
    return handle.readFile('utf8').finally(() => handle.close());
  };
  const create = async (allowed: readonly string[], path: string): Promise<string> => {
    const { handle, path: at } = await (await openFolders(allowed.map((name) => join(home, name)))).create(join(home, path), 'x');
    await handle.close();
    await rm(at);
    return at;
  };

  it.each([
    [['.', '.git'], '.git/config'],
    [['photos'], 'photos/a.jpg'],
    [['photos/'], 'photos/./a.jpg'],
    [['photos'], 'photos/../photos/a.jpg'],
    [['photos', 'photos-private'], 'photos/others/b.jpg'],
    [['shown'], 'photos/a.jpg'],
    [['../../../../../..'], 'c.jpg'],
  ])('allow with %j to read %s', async (allowed, path) => expect(await read(allowed, path)).toBeTypeOf('string'));

  it.each([
    [['.', '.git'], '.git-credentials'],
    [['.git'], '.git-credentials'],
    [['photos'], 'photos-private/b.jpg'],
    [['photos'], 'photos/others/b.jpg'],
    [['photos'], 'photos/../c.jpg'],
    [['photos', '.'], 'photos/link.txt'],
    [['photos'], '/etc/passwd'],
  ])('do not allow with %j to read %s', async (allowed, path) => {
    await expect(read(allowed, path)).rejects.toThrow(/is hidden|is outside/);
  });

  it('let no file be created that is hidden, or outside', async () => {
    for (const [allowed, path] of [
      [['.', '.git'], '.gitconfig'],
      [['.git'], '.gitconfig'],
      [['photos'], 'photos-private/n.jpg'],
      [['photos'], 'photos/../n.jpg'],
      [['photos'], 'photos/others/n.jpg'],
    ] as const)
      await expect(create(allowed, path), path).rejects.toThrow(/is hidden|is outside/);
    expect(await create(['.', '.git'], '.git/n')).toBe(join(home, '.git/n'));
    expect(await create(['photos'], 'photos/n.jpg')).toBe(join(home, 'photos/n.jpg'));
  });
});
