/** Programs that ours start: with files as standard streams, since Node's pipes are sockets, which confined programs may not open. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

interface Running {
  readonly succeeds?: readonly number[];
  /** Path of a file. */
  readonly stdoutTo?: string;
  /** It may fail: then nothing came of it. */
  readonly mayFail?: boolean;
}

/** A command that fails ends this process with its status. @param program absolute path @returns whether it succeeded */
export function runCommand(program: string, args: readonly string[], { succeeds = [0], stdoutTo, mayFail = false }: Running = {}): boolean {
  const stdout = stdoutTo === undefined ? 'ignore' : openSync(stdoutTo, 'w');
  const env = { ...process.env, OMP_THREAD_LIMIT: '1' };
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', stdout, mayFail ? 'ignore' : 'inherit'], env });
  if (typeof stdout === 'number') closeSync(stdout);
  if (error !== undefined) throw error;
  const isDone = status !== null && succeeds.includes(status);
  if (!isDone && !mayFail) process.exit(status ?? 1);
  return isDone;
}
