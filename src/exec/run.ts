/** One confined program from its start to its report, whatever it does meanwhile. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { isFuller } from './folder.ts';
import { Head, lines, Tail } from './kept.ts';
import type { Command, Confined, Outcome, Policy } from './policy.ts';

const KEPT_STDOUT = 1024 * 1024;
const KEPT_STDERR = 16 * 1024;
/** The launcher gives processes 5 s to die; after that something is wrong with itself. */
const PATIENCE_MS = 8_000;

/** What the launcher writes as its last line. */
interface Report {
  readonly why: Exclude<Outcome['ended'], 'launcher'>;
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

function nameOf(signal: number): string | null {
  return Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? null;
}
