/** Moves one job's files into a resident's folder and its results out again, following no link that the program may have planted. */
import { closeSync, constants, existsSync, linkSync, lstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { extname, join } from 'node:path';
import { partsBelow } from '../../paths.ts';
import type { Slot } from '../files/workspace.ts';

/** Absolute paths of the job. The program gets its files in its own folder, and the request is rewritten to the paths there. */
export interface JobPaths {
  readonly input: string;
  /** An empty folder, or none yet: it is the program's while it works, and comes back filled. */
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
export function handIn(
  { slot, folder, staging }: ResidentFolders,
  { input, output, passwordFile, beside }: JobPaths,
): ReadonlyMap<string, string> {
  const names = new Map([[input, `input${extname(input)}`]]);
  if (passwordFile !== undefined) names.set(passwordFile, 'password');
  if (beside !== undefined) names.set(beside, `beside${extname(beside)}`);
  const job = join(staging, 'job');
  mkdirSync(job, { mode: 0o700 });
  // Another one would be a folder more to remove.
  if (existsSync(output)) renameSync(output, join(job, 'output'));
  else slot.makeOwned(join(job, 'output'));
  for (const [from, name] of names) linkPlain(from, join(job, name));
  slot.own(job);
  renameSync(job, join(folder, 'job'));
  return new Map([...names, [output, 'output'] as const].map(([path, name]) => [path, join(folder, 'job', name)]));
}

/** Moves the job out of the program's folder with one rename, and the results to `output` if that is given. */
export async function takeOut({ slot, folder, staging }: ResidentFolders, output: string | undefined): Promise<void> {
  const job = join(staging, 'done');
  renameSync(join(folder, 'job'), job);
  if (output !== undefined) {
    const held = openSync(job, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const made = `/proc/self/fd/${held}/output`;
      if (!lstatSync(made).isDirectory()) throw new Error('the folder of the results was replaced');
      renameSync(made, output);
    } finally {
      closeSync(held);
    }
  }
  await slot.removeFolder(job);
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
function linkPlain(from: string, to: string): void {
  if (!lstatSync(from).isFile()) throw new Error('the input is not a plain file');
  linkSync(from, to);
}
