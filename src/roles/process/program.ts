/** Which program this is: its version, and the commit that it was built from, so that a report names the code. Read without git, which images lack. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A git object's name: SHA-1, or SHA-256 (gitformat-pack(5)). An image of changed files says so behind it (`scripts/images`). */
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?(?:-changed)?$/;
/** Enough to be told from all others, as `git describe` shows it. */
const SHOWN_DIGITS = 12;

/**
 * An image says it by FILEMILL_COMMIT, a package by the field `gitHead` of its package.json; a checkout has it in `.git`.
 * @param checkout absolute path of the project
 * @returns 40 or 64 hex digits, perhaps with `-changed` behind them; undefined where nothing says it
 */
export function commitOf(checkout: string, environment: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  return [() => environment['FILEMILL_COMMIT'], () => packagedAt(checkout), () => checkedOutAt(checkout)]
    .map((read) => unlessAbsent(read))
    .find((found) => found !== undefined && COMMIT.test(found));
}

/** @param checkout absolute path of the project */
export const versionAt = (checkout: string): string =>
  (JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }).version;

/** @returns as `0.1.0 (2b96028bcd12)` */
export function versionWith(version: string, commit: string | undefined): string {
  const [digits = '', changed] = (commit ?? '').split('-');
  return commit === undefined ? version : `${version} (${[digits.slice(0, SHOWN_DIGITS), changed].filter(Boolean).join('-')})`;
}

const packagedAt = (checkout: string): string | undefined =>
  (JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { gitHead?: string }).gitHead;

/** By the layout of a repository (gitrepository-layout(5)). */
function checkedOutAt(checkout: string): string | undefined {
  const folder = folderOfGit(checkout);
  const head = text(folder, 'HEAD');
  const branch = /^ref: (refs\/.+)$/.exec(head)?.[1];
  if (branch === undefined) return head;
  // Beside other worktrees, branches are in the folder that all share.
  const shared = unlessAbsent(() => resolve(folder, text(folder, 'commondir'))) ?? folder;
  return unlessAbsent(() => text(shared, branch)) ?? packedIn(text(shared, 'packed-refs'), branch);
}

/** A worktree or a submodule has a file there, with the folder's path. */
function folderOfGit(checkout: string): string {
  const path = join(checkout, '.git');
  const elsewhere = unlessAbsent(() => /^gitdir: (.+)$/.exec(readFileSync(path, 'utf8').trim())?.[1]);
  return elsewhere === undefined ? path : resolve(checkout, elsewhere);
}

const packedIn = (lines: string, branch: string): string | undefined =>
  lines
    .split('\n')
    .find((line) => line.endsWith(` ${branch}`))
    ?.split(' ')[0];

const text = (folder: string, name: string): string => readFileSync(join(folder, name), 'utf8').trim();

function unlessAbsent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // There is no such file, or it is a folder: then another source says it.
    return undefined;
  }
}
