/** Makes our own programs readable for the slots' users, who cannot enter a closed home folder, where a checkout often lies. */
import { chmod, cp, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';

const PROGRAMS = 'src/exec/programs';
/** The parts of the checkout that our confined programs need: the programs, `package.json`, and sharp with its dependencies. */
const PARTS = [
  PROGRAMS,
  'package.json',
  'node_modules/sharp',
  'node_modules/@img',
  'node_modules/detect-libc',
  'node_modules/semver',
] as const;

export interface Runtime {
  /** The Node that runs our programs. */
  readonly node: string;
  /** Folder of the programs. */
  readonly programs: string;
  /** Paths that they need to read. */
  readonly reads: readonly string[];
}

/**
 * @param checkout absolute path of the project
 * @param into absolute path of a folder that all users can enter: copies go there if users cannot read the checkout or Node
 */
export async function stage(checkout: string, node: string, into: string): Promise<Runtime> {
  const program = await realpath(node);
  if (process.getuid?.() !== 0 || ((await everyoneReaches(checkout)) && (await everyoneReaches(program))))
    return runtimeAt(checkout, program);
  const copy = join(into, 'runtime');
  const wanted = await stampOf([program, join(checkout, 'package-lock.json'), ...(await everythingBelow(join(checkout, PROGRAMS)))]);
  if ((await readFile(join(copy, 'stamp'), 'utf8').catch(() => '')) !== wanted) {
    const fresh = `${copy}-${process.pid}`;
    await mkdir(fresh, { recursive: true, mode: 0o755 });
    for (const part of PARTS) await cp(join(checkout, part), join(fresh, part), { recursive: true, dereference: false });
    await cp(program, join(fresh, 'node'));
    // The checkout may be readable by its owner only.
    for (const path of await everythingBelow(fresh)) await chmod(path, ((await stat(path)).mode & 0o100) === 0 ? 0o644 : 0o755);
    await writeFile(join(fresh, 'stamp'), wanted);
    await rm(copy, { recursive: true, force: true });
    await rename(fresh, copy);
  }
  return runtimeAt(copy, join(copy, 'node'));
}

const runtimeAt = (root: string, node: string): Runtime => ({
  node,
  programs: join(root, PROGRAMS),
  reads: [node, ...PARTS.map((part) => join(root, part))],
});

/** Whether other users can enter every folder on the path, and read what it names. */
export async function everyoneReaches(path: string): Promise<boolean> {
  for (let at = path; at !== sep; at = dirname(at)) {
    const { mode } = await stat(at);
    if ((mode & 0o001) === 0) return at === path && (await stat(path)).isFile() && (mode & 0o004) !== 0;
  }
  return true;
}

/** Changes when one of the files is edited, added or removed: a folder's own modification time covers names only. */
async function stampOf(paths: readonly string[]): Promise<string> {
  const lines = await Promise.all(
    paths.map(async (path) => {
      const { mtimeMs, size } = await stat(path);
      return `${mtimeMs} ${size} ${path}`;
    }),
  );
  return lines.sort().join('\n');
}

const everythingBelow = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true })).map((name) => join(folder, name));
