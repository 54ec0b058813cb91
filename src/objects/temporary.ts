/** The names of files that are still being written: beside what they will become, so that the rename stays within one folder. */
import { randomBytes } from 'node:crypto';

/** No key holds this character. */
const MARK = '~';

/** Nobody writes one file for longer than this, ms; a process id may have been given to another process by then. */
const LONGEST_WRITE_MS = 3 * 3_600_000;

/** `<path>~<process id>-<random>` */
export const temporaryFor = (path: string): string => `${path}${MARK}${process.pid}-${randomBytes(8).toString('hex')}`;

export const isTemporary = (name: string): boolean => name.includes(MARK);

/**
 * Whether the process that wrote this temporary file has ended without renaming or removing it.
 * @param modifiedAt of the file, ms since the epoch
 */
export function isAbandoned(name: string, modifiedAt: number): boolean {
  const writer = Number.parseInt(name.slice(name.lastIndexOf(MARK) + 1), 10);
  const now = Date.now();
  if (Number.isNaN(writer) || now - modifiedAt > LONGEST_WRITE_MS) return true;
  // In a container every start has the same process id: what is older than this process cannot be its own.
  if (writer === process.pid) return modifiedAt < now - process.uptime() * 1_000;
  return !isAlive(writer);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
