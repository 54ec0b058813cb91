/** A job's password, where its converters may read it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Slot } from '../exec/files/workspace.ts';

/** One line, no newline, readable by the slot's user alone: converters take it from a file, never from their command line. */
export async function writePasswordFile(slot: Slot, base: string, password: string | undefined): Promise<string | undefined> {
  if (password === undefined) return undefined;
  const path = join(base, 'password');
  await writeFile(path, password, { mode: 0o400 });
  slot.own(path);
  return path;
}
