/** The names of files that are still being written. They lie beside their final path, so that the rename stays within one folder. */
import { randomBytes } from 'node:crypto';
import { isAlive } from '../alive.ts';

/** No key contains this character. */
const SEPARATOR = '~';

/** No write takes longer than this, ms; after it, another process may have the writer's process id. */
const MAX_WRITE_MS = 3 * 3_600_000;

/** `<path>~<process id>-<random>` */
export const temporaryFor = (path: string): string => `${path}${SEPARATOR}${process.pid}-${randomBytes(8).toString('hex')}`;

export const isTemporary = (name: string): boolean => name.includes(SEPARATOR);

/**
 * Whether the process that wrote this temporary file has ended without renaming or removing it.
 * @param modifiedAt of the file, ms since the epoch
 */
export function isAbandoned(name: string, modifiedAt: number): boolean {
  const writer = Number.parseInt(name.slice(name.lastIndexOf(SEPARATOR) + 1), 10);
  const now = Date.now();
  if (Number.isNaN(writer) || now - modifiedAt > MAX_WRITE_MS) return true;
  // In a container every start has the same process id: a file older than this process was left by an earlier one.
  if (writer === process.pid) return modifiedAt < now - process.uptime() * 1_000;
  return !isAlive(writer);
}
