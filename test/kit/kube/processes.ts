/** The programs of a control plane as child processes that do not outlive the test's own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { until } from './until.ts';

const BIN = join(import.meta.dirname, '../../../.cache/bin');

/** @throws when `scripts/build-servers` has not built it */
export function program(name: string): string {
  const path = join(BIN, name);
  if (!existsSync(path)) throw new Error(`there is no ${name}: scripts/build-servers ${name} makes it`);
  return path;
}

/** Servers in Go collect their garbage less often: memory is there in plenty, and two cores are what everything waits for. */
export const GO = { GOGC: '400' };
/** Commands in Go that end within a second or two collect no garbage unless there is much of it. */
export const BRIEF_GO = { GOGC: 'off', GOMEMLIMIT: '768MiB' };

/** @param name of one that `scripts/build-servers` built, or the path of another @param log what it says is added to this file */
export async function startProgram(
  name: string,
  options: Readonly<Record<string, string | number | boolean>>,
  log: string,
): Promise<ChildProcess> {
  const out = openSync(log, 'a');
  const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
  // The kernel ends it with its parent, however that ends.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', isAbsolute(name) ? name : program(name), ...args], {
    stdio: ['ignore', out, out],
    env: { ...process.env, ...GO },
  });
  await once(child, 'spawn');
  return child;
}

export const isRunning = (child: ChildProcess | undefined): child is ChildProcess => child?.exitCode === null && child.signalCode === null;

/** SIGSTOP, and waits until none of its threads goes on (proc_pid_stat(5)): on a busy machine one may answer a call before it stops. */
export async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  const threads = `/proc/${child.pid}/task`;
  await until('a program to stop', async () => {
    const stats = await Promise.all((await readdir(threads)).map((thread) => readFile(join(threads, thread, 'stat'), 'utf8')));
    return stats.every((stat) => stat.slice(stat.lastIndexOf(')')).startsWith(') T'));
  });
}

export async function kill(child: ChildProcess | undefined): Promise<void> {
  if (!isRunning(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
