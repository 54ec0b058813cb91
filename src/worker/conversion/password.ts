/** Writes a job's password to a file that only its converters can read. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Slot } from '../../exec/files/workspace.ts';

/** The password alone, without a newline, readable by the slot's user only. Converters get a file because others can read command lines. */
export async function writePasswordFile(slot: Slot, base: string, password: string | undefined): Promise<string | undefined> {
  if (password === undefined) return undefined;
  const path = join(base, 'password');
  await writeFile(path, password, { mode: 0o400 });
  slot.own(path);
  return path;
}
