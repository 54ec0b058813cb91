/** The only door to a converter: starts a program through the launcher, bounds all that it does, and tells how it ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { lstat, opendir } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Of one program with all its descendants. Zero for `wallMs` means no end (a resident process). */
export interface Limits {
  /** Sum of resident memory; beside it one process may reserve at most twice as much, and 512 MiB at least. */
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  /** The largest single file. */
  readonly fileBytes: number;
  /** All of the folder, looked at each second and at the end; a file counts as 4 KiB at least. */
  readonly folderBytes: number;
  /** Processes and threads. */
  readonly processes: number;
  readonly wallMs: number;
}

export interface Policy {
  /** The one place that may be written: absolute, without links on the way, owned by `uid` where that is given. */
  readonly folder: string;
  /** Read-only places beside `SYSTEM_READS`: absolute files and folders; missing ones are skipped. */
  readonly reads: readonly string[];
  /** An unused user to become: needed when we are root, impossible when not. */
  readonly uid?: number | undefined;
  /** Stream sockets of AF_UNIX, under `folder` only. */
  readonly unixSockets: boolean;
  /** TCP to this port of 127.0.0.1, for programs that do not block on it; not together with `unixSockets`. */
  readonly tcpPort?: number | undefined;
  readonly limits: Limits;
}

export interface Command {
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  /** Over `PATH`, `LANG`, and `HOME` and `TMPDIR`, which are the folder; nothing else is there. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Each line as it comes, cut at 8 KiB; a carriage return ends a line too. Of a long-lived program only stderr's. */
  readonly onLine?: ((line: string, stream: 'stdout' | 'stderr') => void) | undefined;
  /** What is kept of stdout (1 MiB unless told): more ends the program with `output`, or is dropped where `onLine` listens. */
  readonly keepBytes?: number | undefined;
}

export interface Outcome {
  /** `output`: a file, the folder or stdout grew too large. `launcher`: it could not be confined, and `stderr` says why. */
  readonly ended: 'exit' | 'signal' | 'time' | 'memory' | 'processes' | 'output' | 'cancelled' | 'launcher';
  /** Null unless it exited by itself. */
  readonly code: number | null;
  /** Such as `SIGKILL`, or null. */
  readonly signal: string | null;
  readonly stdout: Buffer;
  /** The last 16 KiB. */
  readonly stderr: string;
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly wallMs: number;
}

export interface Confined {
  /** The supervisor's, not the program's. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Never rejects. */
  readonly ended: Promise<Outcome>;
  kill(): void;
}

export interface KernelSupport {
  readonly arch: string;
  /** 0 where there is none. */
  readonly landlockAbi: number;
  readonly seccomp: boolean;
  /** What a newer kernel would confine better, in sentences. */
  readonly lacks: readonly string[];
}

export interface Launcher {
  /** A long-lived program; its stdin and stdout are the caller's. */
  start(policy: Policy, command: Command): Confined;
  run(policy: Policy, command: Command): Promise<Outcome>;
  check(): Promise<KernelSupport>;
}

/** What every converter may read: programs and libraries, fonts, and the few settings without which they fail. Missing ones are skipped. */
export const SYSTEM_READS: readonly string[] = [
  ...under('/', 'usr bin lib lib64'),
  ...under('/etc', 'ld.so.cache fonts ImageMagick-6 ImageMagick-7 ghostscript papersize paperspecs libreoffice nsswitch.conf passwd'),
  ...under('/etc', 'localtime mime.types ssl/openssl.cnf python3 python3.11 python3.13'),
  ...under('/var', 'lib/ghostscript lib/libreoffice spool/libreoffice cache/fontconfig'),
  ...under('/dev', 'zero urandom random'),
  ...under('/proc', 'cpuinfo meminfo stat version sys/vm/overcommit_memory'),
  ...under('/proc/self', 'maps stat statm status cgroup fd'),
  '/sys/devices/system/cpu',
];

function under(folder: string, names: string): string[] {
  return names.split(' ').map((name) => join(folder, name));
}

const KEPT_STDOUT = 1024 * 1024;
const KEPT_STDERR = 16 * 1024;
const LONGEST_LINE = 8 * 1024;
/** The launcher gives processes 5 s to die; after that something is wrong with itself. */
const PATIENCE_MS = 8_000;

export interface LauncherOptions {
  /** Use no more of Landlock than this version has: to test what older kernels give. */
  readonly landlockAbi?: number;
  /** Start even where the kernel has no Landlock: files are then not confined. */
  readonly withoutLandlock?: boolean;
}

/** `path`: the program that `scripts/build-launcher` makes. */
export function launcherAt(path: string, options: LauncherOptions = {}): Launcher {
  const kernel = [
    ...(options.landlockAbi === undefined ? [] : ['--landlock-abi', String(options.landlockAbi)]),
    ...(options.withoutLandlock ? ['--without-landlock'] : []),
  ];
  const start = (policy: Policy, command: Command, keepsStdout: boolean) =>
    new Run(path, [...kernel, ...argsFor(policy, command)], policy, command, keepsStdout);
  return {
    start: (policy, command) => start(policy, command, false),
    run: async (policy, command) => {
      const run = start(policy, command, true);
      run.stdin.end(command.stdin);
      return run.ended;
    },
    check: () => check(path, kernel),
  };
}

function argsFor({ folder, reads, uid, unixSockets, tcpPort, limits }: Policy, { program, args, env }: Command): string[] {
  const environment = { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', HOME: folder, TMPDIR: folder, ...env };
  const options: Record<string, string | number> = {
    cwd: folder,
    data: Math.max(2 * limits.memoryBytes, 512 * 1024 * 1024),
    memory: limits.memoryBytes,
    cpu: limits.cpuSeconds,
    fsize: limits.fileBytes,
    nproc: limits.processes,
    wall: limits.wallMs,
    report: 3,
    parent: process.pid,
    ...(uid === undefined ? {} : { uid }),
    ...(tcpPort === undefined ? {} : { tcp: tcpPort }),
  };
  return [
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...[folder, '/dev/null'].flatMap((place) => ['--rw', place]),
    ...[...SYSTEM_READS, ...reads].flatMap((place) => ['--ro', place]),
    ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...(unixSockets ? ['--unix'] : []),
    '--',
    program,
    ...args,
  ];
}

/** What the launcher writes as its last line. */
interface Report {
  readonly why: Exclude<Outcome['ended'], 'launcher'>;
  readonly code: number;
  readonly signal: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly wallMs: number;
}

class Run implements Confined {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly ended: Promise<Outcome>;
  private readonly launcher: ChildProcess;
  private readonly started = performance.now();
  private readonly reported: Promise<unknown>;
  private readonly timers = new Set<NodeJS.Timeout>();
  private report = '';
  private tooMuch = false;
  private stopped = false;
  private over = false;

  constructor(path: string, args: readonly string[], policy: Policy, command: Command, keepsStdout: boolean) {
    this.launcher = spawn(path, args, { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
    const [stdin, stdout, stderr, report] = this.launcher.stdio as unknown as [Writable, Readable, Readable, Readable];
    this.pid = this.launcher.pid;
    this.stdin = stdin;
    this.stdout = stdout;
    // A program may end without reading all that it was given.
    stdin.on('error', () => {});
    report.setEncoding('utf8').on('data', (text: string) => {
      this.report += text;
    });
    this.reported = new Promise((settle) => report.once('close', settle));
    const head = new Head(command.keepBytes ?? KEPT_STDOUT);
    const tail = new Tail(KEPT_STDERR);
    if (keepsStdout) {
      stdout.on('data', (chunk: Buffer) => {
        head.add(chunk);
        // Whoever reads a progress report line by line may get a long one, though not an endless one.
        if (head.seen > (command.onLine === undefined ? head.size : policy.limits.fileBytes)) this.stopForOutput();
      });
    }
    stderr.on('data', (chunk: Buffer) => {
      tail.add(chunk);
      if (tail.seen > policy.limits.fileBytes) this.stopForOutput();
    });
    const { onLine, signal } = command;
    if (onLine && keepsStdout)
      stdout.on(
        'data',
        lines((line) => onLine(line, 'stdout')),
      );
    if (onLine)
      stderr.on(
        'data',
        lines((line) => onLine(line, 'stderr')),
      );

    const abort = () => this.kill();
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    if (policy.limits.wallMs > 0) this.later(policy.limits.wallMs + PATIENCE_MS, () => this.killLauncher());
    this.watch(policy);
    this.ended = this.end(policy, () => ({ stdout: head.bytes(), stderr: tail.text() })).finally(() =>
      signal?.removeEventListener('abort', abort),
    );
  }

  kill(): void {
    if (this.over) return;
    this.stopped = true;
    this.launcher.kill('SIGTERM');
    this.later(PATIENCE_MS, () => this.killLauncher());
  }

  private stopForOutput(): void {
    this.tooMuch = true;
    this.kill();
  }

  private later(ms: number, act: () => void): void {
    this.timers.add(setTimeout(act, ms).unref());
  }

  private watch(policy: Policy): void {
    this.later(1_000, () => {
      if (this.over) return;
      void isFuller(policy.folder, policy.limits.folderBytes).then((fuller) => (fuller ? this.stopForOutput() : this.watch(policy)));
    });
  }

  /** The launcher takes its tree along when it ends in any way but this one. */
  private killLauncher(): void {
    this.launcher.kill('SIGKILL');
    const group = /^\{"pid":(\d+)\}/.exec(this.report)?.[1];
    if (group === undefined) return;
    try {
      process.kill(-Number(group), 'SIGKILL');
    } catch {
      // Nobody is left.
    }
  }

  private async end(policy: Policy, kept: () => Pick<Outcome, 'stdout' | 'stderr'>): Promise<Outcome> {
    const failure = await new Promise<string | undefined>((settle) => {
      this.launcher.once('error', (error) => settle(`launcher: cannot be started: ${error.message}`));
      // Without a report it was killed, and could not take its tree along.
      this.launcher.once('exit', () => this.reported.then(() => this.report.includes('"why"') || this.killLauncher()));
      this.launcher.once('close', () => settle(undefined));
    });
    this.over = true;
    for (const timer of this.timers) clearTimeout(timer);
    const last = /^\{"why".*\}$/m.exec(this.report)?.[0];
    if (last === undefined) {
      const { stdout, stderr } = kept();
      const said = failure ?? (stderr || 'launcher: ended without a report');
      // Stopped before it listened, or deaf; otherwise it failed.
      const ended = failure !== undefined || !this.stopped ? 'launcher' : this.tooMuch ? 'output' : 'cancelled';
      return { ended, code: null, signal: null, stdout, stderr: said, cpuMs: 0, peakBytes: 0, wallMs: this.age() };
    }
    const { why, code, signal, cpuMs, peakBytes, wallMs } = JSON.parse(last) as Report;
    const tooMuch = this.tooMuch || (await isFuller(policy.folder, policy.limits.folderBytes));
    return { ended: tooMuch ? 'output' : why, code: code < 0 ? null : code, signal: nameOf(signal), ...kept(), cpuMs, peakBytes, wallMs };
  }

  private age(): number {
    return Math.round(performance.now() - this.started);
  }
}

/** Whether the folder holds more than `bytes`. One in which something cannot even be looked at was made so on purpose. */
async function isFuller(folder: string, bytes: number): Promise<boolean> {
  let sum = 0;
  const left = [folder];
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    try {
      for await (const entry of await opendir(place)) {
        const path = join(place, entry.name);
        if (entry.isDirectory()) left.push(path);
        const { blocks } = await lstat(path);
        sum += Math.max(4096, blocks * 512);
        if (sum > bytes) return true;
      }
    } catch (error) {
      // Files come and go under our hands.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return true;
    }
  }
  return false;
}

/** The first `size` bytes of a stream. */
class Head {
  seen = 0;
  readonly size: number;
  private readonly chunks: Buffer[] = [];

  constructor(size: number) {
    this.size = size;
  }

  add(chunk: Buffer): void {
    if (this.seen < this.size) this.chunks.push(chunk.subarray(0, this.size - this.seen));
    this.seen += chunk.length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

/** The last `size` bytes of a stream. */
class Tail {
  seen = 0;
  private readonly size: number;
  private kept = Buffer.alloc(0);

  constructor(size: number) {
    this.size = size;
  }

  add(chunk: Buffer): void {
    this.seen += chunk.length;
    this.kept = Buffer.concat([this.kept, chunk]).subarray(-this.size);
  }

  text(): string {
    return this.kept.toString('utf8');
  }
}

function lines(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  return (chunk) => {
    const parts = (begun + decoder.write(chunk)).split(/[\r\n]+/);
    begun = (parts.pop() ?? '').slice(0, LONGEST_LINE);
    for (const part of parts) if (part !== '') onLine(part.slice(0, LONGEST_LINE));
  };
}

function nameOf(signal: number): string | null {
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? null;
}

/** By Landlock ABI (Documentation/userspace-api/landlock.rst): what only this version and later ones confine. */
const GAINS: readonly (readonly [abi: number, lack: string])[] = [
  [1, 'files are not confined: the kernel has no Landlock, or it is not enabled (lsm=landlock)'],
  [2, 'files cannot be moved between folders'],
  [3, 'truncation is refused by system call, not by place'],
  [4, 'TCP is refused by system call only'],
  [5, 'device controls are not confined'],
  [6, 'signals are refused altogether, not only those to other programs'],
];

function check(path: string, kernel: readonly string[]): Promise<KernelSupport> {
  return new Promise((settle, fail) => {
    const launcher = spawn(path, [...kernel, '--check'], { cwd: '/', env: {}, stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 });
    const head = new Head(KEPT_STDERR);
    launcher.stdout.on('data', (chunk: Buffer) => head.add(chunk));
    launcher.once('error', (cause) =>
      fail(new Error(`the launcher ${path} cannot be started; build it with scripts/build-launcher`, { cause })),
    );
    launcher.once('close', (code) => {
      if (code !== 0) return fail(new Error(`the launcher ${path} does not answer --check`));
      const { landlock, seccomp } = JSON.parse(head.bytes().toString()) as { landlock: number; seccomp: boolean };
      const lacks = GAINS.filter(([abi]) => landlock < abi).map(([, lack]) => lack);
      settle({
        arch: process.arch,
        landlockAbi: landlock,
        seccomp,
        lacks: seccomp ? lacks : [...lacks, 'system calls are not confined: the kernel has no seccomp'],
      });
    });
  });
}
