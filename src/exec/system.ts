/** Runs programs of the system that are no converters, such as tar and timedatectl: unconfined, for commands of the operator, and with a time limit. */
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

export interface SystemAnswer {
  readonly stdout: string;
  readonly stderr: string;
}

/** What is kept of a complaint, and what is shown of it: its end, characters. */
const KEPT = 1 << 24;
const SHOWN = 500;

export interface SystemFailure {
  /** The exit status, or the signal that ended it. */
  readonly ended: number | string;
  /** All that it wrote, but for what comes after millions of characters. */
  readonly complaint: string;
  /** Both, cut for people. */
  readonly says: string;
}

/** @throws the system's error, with its code, where the program is not there; an error where it fails or takes too long */
export const askSystem = (program: string, args: readonly string[], withinMs: number, maxBytes = 1 << 24): Promise<SystemAnswer> =>
  promisify(execFile)(program, [...args], { timeout: withinMs, maxBuffer: maxBytes });

/**
 * Runs a program between descriptors.
 * @param input, output descriptors; undefined: none
 * @returns how it failed, in its words; undefined where it did not
 * @throws the system's error where it cannot be started
 */
export function runSystem(
  program: string,
  args: readonly string[],
  { input, output, withinMs }: { readonly input?: number; readonly output?: number; readonly withinMs: number },
): Promise<SystemFailure | undefined> {
  return new Promise((settle, fail) => {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
    const child = spawn(program, [...args], { stdio: [input ?? 'ignore', output ?? 'ignore', 'pipe'], timeout: withinMs, env });
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint += text.slice(0, KEPT - complaint.length);
    });
    child.once('error', fail);
    child.once('close', (code, signal) => {
      const ended = code ?? signal ?? 'no status';
      const says = `${ended}: ${complaint.slice(-SHOWN).trim() || 'it gave no reason'}`;
      settle(ended === 0 ? undefined : { ended, complaint, says });
    });
  });
}
