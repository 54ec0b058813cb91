/** One run of a confined program, from its start to the launcher's report. */
import { ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { onAbort } from '../../streams/abort.ts';
import { Head, lines, Tail } from './kept.ts';
import type { Command, Confined, Policy, ProcessOutcome } from './policy.ts';

const KEPT_STDOUT = 1024 * 1024;
const KEPT_STDERR = 16 * 1024;
/** The launcher gives processes 5 s to end; after this time the launcher itself hangs. */
const LAUNCHER_GRACE_MS = 8_000;

/** The launcher's answer to `clear`. */
const ASKED = 'asked';

/** A line from the launcher. `pid`: of the program, and of its process group. */
type Said = { readonly pid: number } | { readonly call: string } | { readonly cleared: string } | Report;

/** Its last line. */
interface Report {
  readonly why: Exclude<ProcessOutcome['ended'], 'launcher'>;
  readonly code: number;
  readonly signal: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly wallMs: number;
}

export class Run implements Confined {
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly ended: Promise<ProcessOutcome>;
  private readonly launcher: ChildProcess;
  private readonly started = performance.now();
  private readonly reported: Promise<unknown>;
  private readonly timers = new Set<NodeJS.Timeout>();
  /** Keeps only those messages of the launcher that are still needed: a program may live for days, with a message each second. */
  private group: number | undefined;
  private report: Report | undefined;
  private readonly calls = new Set<string>();
  private readonly onSpared: ((why: string) => void) | undefined;
  private onCleared: (() => void) | undefined;
  private tooMuch = false;
  private stopped = false;
  private over = false;

  constructor(path: string, args: readonly string[], policy: Policy, command: Command, keepsStdout: boolean) {
    this.launcher = launch(path, args);
    const [stdin, stdout, stderr, report] = stdioOf(this.launcher);
    this.pid = this.launcher.pid;
    this.stdin = stdin;
    this.stdout = stdout;
    // A program may end without reading its whole input.
    stdin.on('error', () => {});
    report.on(
      'data',
      lines((line) => this.hear(JSON.parse(line) as Said)),
    );
    this.reported = new Promise((settle) => report.once('close', settle));
    const head = new Head(command.keepBytes ?? KEPT_STDOUT);
    const tail = new Tail(KEPT_STDERR);
    if (keepsStdout) {
      stdout.on('data', (chunk: Buffer) => {
        head.add(chunk);
        // Progress reports that are read line by line may be long, though not endless.
        if (head.seen > (command.onLine === undefined ? head.size : policy.limits.fileBytes)) this.stopForOutput();
      });
    }
    stderr.on('data', (chunk: Buffer) => {
      tail.add(chunk);
      if (tail.seen > policy.limits.fileBytes) this.stopForOutput();
    });
    this.onSpared = command.onSpared;
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

    const unsubscribe = onAbort(signal, () => this.kill());
    if (policy.limits.wallMs > 0) this.later(policy.limits.wallMs + LAUNCHER_GRACE_MS, () => this.killLauncher());
    this.ended = this.end(() => ({ stdout: head.bytes(), stderr: tail.text() })).finally(unsubscribe);
  }

  kill(): void {
    if (this.over) return;
    this.stopped = true;
    this.launcher.kill('SIGTERM');
    this.later(LAUNCHER_GRACE_MS, () => this.killLauncher());
  }

  async clear(): Promise<void> {
    if (this.over) return;
    const cleared = new Promise<void>((settle) => {
      this.onCleared = settle;
    });
    this.launcher.kill('SIGUSR1');
    // The launcher ends everything where something does not die.
    await Promise.race([cleared, this.ended]);
  }

  private stopForOutput(): void {
    this.tooMuch = true;
    this.kill();
  }

  private hear(said: Said): void {
    if ('pid' in said) this.group = said.pid;
    else if ('call' in said) this.calls.add(said.call);
    else if ('cleared' in said) this.hearCleared(said.cleared);
    else this.report = said;
  }

  private hearCleared(why: string): void {
    if (why === ASKED) this.onCleared?.();
    else this.onSpared?.(why);
  }

  private later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      act();
    }, ms).unref();
    this.timers.add(timer);
  }

  /** Kills the launcher and the process group: SIGKILL is the only end in which the launcher cannot kill its descendants itself. */
  private killLauncher(): void {
    this.launcher.kill('SIGKILL');
    if (this.group === undefined) return;
    try {
      process.kill(-this.group, 'SIGKILL');
    } catch {
      // The group has already ended.
    }
  }

  private async end(kept: () => Pick<ProcessOutcome, 'stdout' | 'stderr'>): Promise<ProcessOutcome> {
    const failure = await new Promise<NodeJS.ErrnoException | undefined>((settle) => {
      this.launcher.once('error', settle);
      // A launcher that was killed could not end its descendants. Otherwise none is left, and the process id may belong to another process by now.
      this.launcher.once('exit', (_code, signal) => {
        if (signal !== null) void this.reported.then(() => this.report ?? this.killLauncher());
      });
      this.launcher.once('close', () => settle(undefined));
    });
    this.over = true;
    for (const timer of this.timers) clearTimeout(timer);
    if (this.report === undefined) {
      const { stdout, stderr } = kept();
      const none = { code: null, signal: null, stdout, cpuMs: 0, peakBytes: 0, wallMs: this.age(), otherCalls: [] };
      if (failure !== undefined) {
        const notStarted = failure.code ?? 'unknown';
        return { ...none, ended: 'launcher', stderr: `launcher: cannot be started: ${failure.message}`, notStarted };
      }
      // The launcher was stopped before it handled signals, or hung; otherwise it failed.
      const ended = !this.stopped ? 'launcher' : this.tooMuch ? 'output' : 'cancelled';
      return { ...none, ended, stderr: stderr || 'launcher: ended without a report' };
    }
    const { why, code, signal, cpuMs, peakBytes, wallMs } = this.report;
    return {
      ended: this.tooMuch ? 'output' : why,
      code: code < 0 ? null : code,
      signal: nameOf(signal),
      ...kept(),
      ...{ cpuMs, peakBytes, wallMs },
      otherCalls: [...this.calls].sort(),
    };
  }

  private age(): number {
    return Math.round(performance.now() - this.started);
  }
}

/** `spawn` throws when memory runs out. Emits an event instead, as for every other failure to start, once a listener can be attached. */
function launch(path: string, args: readonly string[]): ChildProcess {
  try {
    return spawn(path, args, { cwd: '/', env: {}, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
  } catch (error) {
    const none = new ChildProcess();
    process.nextTick(() => none.emit('error', error));
    return none;
  }
}

/** When descriptors run out, a child process has no streams: returns unused ones instead. */
function stdioOf({ stdio }: ChildProcess): [Writable, Readable, Readable, Readable] {
  const streams = stdio as unknown as [Writable, Readable, Readable, Readable] | undefined;
  return streams ?? [new PassThrough(), new PassThrough(), new PassThrough(), new PassThrough()];
}

function nameOf(signal: number): string | null {
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? null;
}
