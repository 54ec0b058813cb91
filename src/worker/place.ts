/** Folders and files of a job that its converters may use, in the hands of the slot's user. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Slot } from '../exec/workspace.ts';

/** One line, no newline, readable by the slot's user alone: converters take it from a file, never from their command line. */
export async function givePassword(slot: Slot, base: string, password: string | undefined): Promise<string | undefined> {
  if (password === undefined) return undefined;
  const path = join(base, 'password');
  await writeFile(path, password, { mode: 0o400 });
  await slot.own(path);
  return path;
}

export async function makeOwned(slot: Slot, path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await slot.own(path);
}
