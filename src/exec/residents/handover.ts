/** Hands one job's files to a warm program and takes back what it made: what it arranged in its folder meanwhile is never followed. */
import { constants, mkdirSync } from 'node:fs';
import { link, lstat, open, rename } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { removeTree } from '../files/remove.ts';
import type { Slot } from '../files/workspace.ts';

/** Absolute paths of the job. The program gets its files in its own folder, and the request is rewritten to name these. */
export interface Files {
  readonly input: string;
  /** An empty folder, which the one that the program filled takes the place of. */
  readonly output: string;
  readonly passwordFile?: string;
}

/** The program's folder, and one of ours beside it: what is built or taken apart there is out of the program's reach. */
export interface ResidentFolders {
  readonly slot: Slot;
  readonly folder: string;
  readonly desk: string;
}

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Puts the job into the program's folder in one move. Made there piece by piece, a link swapped in between would have us give away
 * or overwrite a file anywhere.
 * @returns the job's paths and what they are called there
 */
export async function handIn(
  { slot, folder, desk }: ResidentFolders,
  { input, output, passwordFile }: Files,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map([[input, `input${extname(input)}`]]);
  if (passwordFile !== undefined) names.set(passwordFile, 'password');
  const job = join(desk, 'job');
  mkdirSync(job, { mode: 0o700 });
  slot.makeOwned(join(job, 'output'));
  for (const [from, name] of names) await linkPlain(from, join(job, name));
  slot.own(job);
  await rename(job, join(folder, 'job'));
  return new Map([...names, [output, 'output'] as const].map(([path, name]) => [path, join(folder, 'job', name)]));
}

/** Takes the job out of the program's folder in one move, and from it the results, if they are wanted. */
export async function takeOut({ folder, desk }: ResidentFolders, output: string | undefined): Promise<void> {
  const job = join(desk, 'done');
  await rename(join(folder, 'job'), job);
  if (output !== undefined) {
    await using held = await open(job, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    // Whatever else goes by that name does not take a folder's place.
    await rename(`/proc/self/fd/${held.fd}/output`, output);
  }
  await removeTree(job);
}

/** A request with every path of the job replaced by what it is called in the program's folder. */
export function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    for (const [from, to] of names) if (value === from || value.startsWith(`${from}/`)) return to + value.slice(from.length);
    return value;
  }
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, renamed(item, names)]));
}

/** The job's own file under a second name, in the slot user's hands already. An earlier step's converter may have left a link or a pipe there. */
async function linkPlain(from: string, to: string): Promise<void> {
  if (!(await lstat(from)).isFile()) throw new Error('the input is not a plain file');
  await link(from, to);
}
