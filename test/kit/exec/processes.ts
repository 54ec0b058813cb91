/** Processes below this one, as /proc tells of them. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

export interface Seen {
  readonly pid: number;
  /** The program's own name, and what it was given. */
  readonly argv: readonly string[];
}

/** Everything below `pid`, whatever its depth. What ends meanwhile is left out. */
export function processesBelow(pid: number = process.pid): Seen[] {
  const children = attempt(() => readdirSync(`/proc/${pid}/task`), []).flatMap((task) =>
    attempt(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'), '')
      .split(' ')
      .filter(Boolean)
      .map(Number),
  );
  return children.flatMap((child) => {
    const argv = attempt(() => readFileSync(`/proc/${child}/cmdline`, 'utf8'), '').split('\0');
    return [{ pid: child, argv }, ...processesBelow(child)];
  });
}

/** Process ids of all that run `program` (a base name), with an argument that ends in `argument`. */
export const runningBelow = (program: string, argument = '', pid: number = process.pid): number[] =>
  processesBelow(pid)
    .filter((each) => attempt(() => basename(readlinkSync(`/proc/${each.pid}/exe`)), '') === program)
    .filter(({ argv }) => argv.some((word) => word.endsWith(argument)))
    .map((each) => each.pid);

/** As LibreOffice's server calls a process that it has forked, once that waits for a document (`exec/programs/documents/office/fork_server.py`). */
const FORKED = 'python3-ready';

/** Process ids of those that LibreOffice's servers have forked: each waits for a document, or converts one. */
export const forkedBelow = (pid: number = process.pid): number[] =>
  processesBelow(pid)
    .map((each) => each.pid)
    .filter((each) => attempt(() => readFileSync(`/proc/${each}/comm`, 'utf8'), '').trim() === FORKED && !isEnded(each));

/** Those of them that wait for a document: a process that converts one has gone into the folder of its job. */
export const waitingBelow = (pid: number = process.pid): number[] =>
  forkedBelow(pid).filter((each) => stateOf(each) === 'S' && folderOf(each) === folderOf(parentOf(each)));

const folderOf = (pid: number): string => attempt(() => readlinkSync(`/proc/${pid}/cwd`), `gone: ${pid}`);

/** As proc_pid_stat(5) has it, such as `S` for one that sleeps; empty once it has gone. */
const stateOf = (pid: number): string => /^.*\) (\S)/s.exec(attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), ''))?.[1] ?? '';

/** @returns 0 once it has ended */
export const parentOf = (pid: number): number =>
  Number(/^.*\) \S+ (\d+)/s.exec(attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), ''))?.[1] ?? 0);

const isEnded = (pid: number): boolean => stateOf(pid) === 'Z';

/** How many threads everything below `pid` has. */
export const threadsBelow = (pid: number = process.pid): number =>
  processesBelow(pid).reduce((sum, each) => sum + attempt(() => readdirSync(`/proc/${each.pid}/task`), []).length, 0);

/** Which of them have ended without that anybody took note: each still counts as a process. */
export const endedBelow = (pid: number): Seen[] => processesBelow(pid).filter((each) => isEnded(each.pid));

/** It has ended, whether or not its parent took note. */
export const isGone = (pid: number): boolean => !existsSync(`/proc/${pid}`) || isEnded(pid);

function attempt<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
