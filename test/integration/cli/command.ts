/** Runs `filemill` as a user at a shell does: a process, with separate folders for what it works in. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../../kit/roles/service.ts';

export interface CommandEnd {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  /** What it has written to standard error so far. */
  readonly said: () => string;
  readonly ended: Promise<CommandEnd>;
}

export interface CommandFolder {
  /** Files to convert lie here, and commands run here. */
  readonly folder: string;
  start(args: readonly string[], stdin?: Uint8Array, env?: Readonly<Record<string, string>>): RunningCommand;
  run(args: readonly string[], stdin?: Uint8Array, env?: Readonly<Record<string, string>>): Promise<CommandEnd>;
  /** What lies in the folder that conversions run in. */
  leftovers(): Promise<readonly string[]>;
  remove(): Promise<void>;
}

export async function commandFolder(): Promise<CommandFolder> {
  const home = await mkdtemp(join(tmpdir(), 'filemill-command-'));
  const [folder, work] = [join(home, 'files'), join(home, 'work')];
  for (const path of [folder, work]) await mkdir(path);
  // Converters run as other users.
  for (const path of [home, work]) await chmod(path, 0o755);
  const running = new Set<ChildProcess>();
  const start: CommandFolder['start'] = (args, stdin, env = {}) => {
    const child = spawn(join(checkout, 'scripts/filemill'), args, {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: work, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    running.add(child);
    child.on('close', () => running.delete(child));
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    // It may end before it has read all.
    child.stdin.on('error', () => {});
    child.stdin.end(stdin);
    const said = () => Buffer.concat(err).toString();
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout: Buffer.concat(out), stderr: said() }));
    return { child, said, ended };
  };
  return {
    folder,
    start,
    run: (...command) => start(...command).ended,
    leftovers: () => readdir(work),
    async remove() {
      for (const child of running) child.kill('SIGKILL');
      await rm(home, { recursive: true, force: true });
    },
  };
}
