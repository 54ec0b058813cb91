/** Moves one job's files into a resident's folder and its results out again, following no link that the program may have planted. */
import { constants, mkdirSync } from 'node:fs';
import { link, lstat, open, rename } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { partsBelow } from '../../paths.ts';
import { removeTree } from '../files/remove.ts';
import type { Slot } from '../files/workspace.ts';

/** Absolute paths of the job. The program gets its files in its own folder, and the request is rewritten to the paths there. */
export interface JobPaths {
  readonly input: string;
  /** An empty folder, which is replaced by the one that the program filled. */
  readonly output: string;
  readonly passwordFile?: string;
  /** One more file that it reads. */
  readonly beside?: string;
}

/** The program's folder, and a private folder beside it, which the program cannot access. */
export interface ResidentFolders {
  readonly slot: Slot;
  readonly folder: string;
  readonly staging: string;
}

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Puts the job into the program's folder with one rename. If it were built there, the program could plant a link meanwhile and make us give away
 * or overwrite any file.
 * @returns the job's paths, each with its path there
 */
export async function handIn(
  { slot, folder, staging }: ResidentFolders,
  { input, output, passwordFile, beside }: JobPaths,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map([[input, `input${extname(input)}`]]);
  if (passwordFile !== undefined) names.set(passwordFile, 'password');
  if (beside !== undefined) names.set(beside, `beside${extname(beside)}`);
  const job = join(staging, 'job');
  mkdirSync(job, { mode: 0o700 });
  slot.makeOwned(join(job, 'output'));
  for (const [from, name] of names) await linkPlain(from, join(job, name));
  slot.own(job);
  await rename(job, join(folder, 'job'));
  return new Map([...names, [output, 'output'] as const].map(([path, name]) => [path, join(folder, 'job', name)]));
}

/** Moves the job out of the program's folder with one rename, and the results to `output` if that is given. */
export async function takeOut({ folder, staging }: ResidentFolders, output: string | undefined): Promise<void> {
  const job = join(staging, 'done');
  await rename(join(folder, 'job'), job);
  if (output !== undefined) {
    await using held = await open(job, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    // rename(2) fails if `output` is anything but a folder.
    await rename(`/proc/self/fd/${held.fd}/output`, output);
  }
  await removeTree(job);
}

/** The request with every path of the job replaced by its path in the program's folder. */
export function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    for (const [from, to] of names) {
      const below = partsBelow(from, value);
      if (below !== undefined) return [to, ...below].join('/');
    }
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, renamed(item, names)]));
}

/** Hard-links the job's file, which the slot's user already owns. Refuses links and pipes that an earlier step's converter may have left. */
async function linkPlain(from: string, to: string): Promise<void> {
  if (!(await lstat(from)).isFile()) throw new Error('the input is not a plain file');
  await link(from, to);
}
