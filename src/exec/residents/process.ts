/** One life of a warm program: in a folder of its own it serves job after job, until it has to go or something goes wrong. */

import { readdirSync, readFileSync } from 'node:fs';
import type { StepLimits } from '../../catalog/engine.ts';
import type { Toolchain } from '../../contracts/toolchains.ts';
import { onAbort } from '../../streams/abort.ts';
import type { Launcher } from '../confine/confine.ts';
import type { Confined, Outcome } from '../confine/policy.ts';
import { removeTree } from '../files/remove.ts';
import type { Slot } from '../files/workspace.ts';
import { type Files, handIn, type ResidentFolders, renamed, takeOut } from './handover.ts';
import { type Answer, LONGEST_LINE, readAnswer, readMessage } from './messages.ts';

/** How such a program is started: what `Toolbox.resolve` answers. It says {"ready":true} when it can take its first request. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly reads: readonly string[];
  readonly calls?: Toolchain | undefined;
  readonly unixSockets: boolean;
  /** The one port of 127.0.0.1 that it may connect to. */
  readonly tcpPort?: number | undefined;
}

export interface Asking {
  /** `wallMs` holds for this request; the other limits for the life of a program that this request starts, CPU seconds excepted. */
  readonly limits: StepLimits;
  readonly signal: AbortSignal;
  /** 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

export type BreakReason = 'start' | 'crash' | 'timeout' | 'memory' | 'output' | 'cancelled' | 'protocol';

/** The program was ended and will not be used again. All but a timeout and a cancelled request are worth one try in a fresh process. */
export class ResidentBroken extends Error {
  override readonly name = 'ResidentBroken';
  readonly why: BreakReason;
  constructor(why: BreakReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.why = why;
  }
}

/** Where a life takes place, and under which name. */
export interface ResidentProcessOptions {
  readonly launcher: Launcher;
  readonly slot: Slot;
  /** Of its folders: no other life in the slot has it. */
  readonly name: string;
}

type Message = Readonly<Record<string, unknown>>;

const START_MS = 60_000;
/** RLIMIT_CPU counts a process's whole life, which is bounded by its conversions and by the wall clock of each. */
const LIFE_CPU_SECONDS = 7 * 24 * 3600;
/** More words about one request are no answer of a program of ours. */
const MOST_LINES = 10_000;

export class ResidentProcess {
  /** It must not be asked again. */
  over = false;
  served = 0;
  private readonly folders: ResidentFolders;
  private readonly process: Confined;
  /** Settles when no process and no folder is left. Never rejects. */
  private readonly reaped: Promise<void>;
  private listener: { heard(message: Message): void; broke(error: ResidentBroken): void } | undefined;
  private partialLine = '';

  /** @throws ResidentBroken when it does not become ready */
  static async start({ launcher, slot, name }: ResidentProcessOptions, program: Program, limits: StepLimits): Promise<ResidentProcess> {
    const folders = { slot, folder: await slot.makeFolder(name), desk: await slot.makePrivateFolder(`${name}-desk`) };
    const one = new ResidentProcess(launcher, folders, program, limits);
    const answer = await one.receive({ wallMs: START_MS, signal: undefined }, (message) => message['ready'] === true);
    if (answer instanceof ResidentBroken) throw new ResidentBroken('start', `the resident did not start: ${answer.message}`, answer);
    return one;
  }

  private constructor(
    launcher: Launcher,
    folders: ResidentFolders,
    { program, args, reads, calls, unixSockets, tcpPort }: Program,
    limits: StepLimits,
  ) {
    this.folders = folders;
    const { folder, slot } = folders;
    const forLife = { ...limits, wallMs: 0, cpuSeconds: LIFE_CPU_SECONDS };
    this.process = launcher.start({ folder, reads, calls, unixSockets, tcpPort, limits: forLife, uid: slot.uid }, { program, args });
    this.process.stdout.setEncoding('utf8').on('data', (text: string) => this.onStdout(text));
    this.reaped = this.process.ended.then((outcome) => this.reap(outcome));
  }

  /** Of the supervisor. */
  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Bytes of the supervisor and all below it. */
  residentBytes(): number {
    return this.pid === undefined ? 0 : residentBytesOf(this.pid);
  }

  /** One request at a time. Nothing of it is left in the program's folder afterwards, or the program is ended. @throws ResidentBroken */
  async serve(request: Message, files: Files, { limits, signal, onProgress }: Asking): Promise<Answer> {
    this.served++;
    try {
      const names = await handIn(this.folders, files).catch((cause: unknown) => this.distrust(cause));
      this.process.stdin.write(`${JSON.stringify(renamed(request, names))}\n`);
      const last = await this.receive({ wallMs: limits.wallMs, signal }, (message) => {
        const { progress } = message;
        if (typeof progress === 'number' && progress >= 0 && progress <= 1) onProgress?.(progress);
        return readAnswer(message) !== undefined;
      });
      if (last instanceof ResidentBroken) throw last;
      const answer = readAnswer(last) ?? { ok: false };
      await takeOut(this.folders, answer.ok ? files.output : undefined).catch((cause: unknown) => this.distrust(cause));
      return answer;
    } catch (error) {
      await this.end();
      throw error;
    }
  }

  /** Resolves when no process and no folder is left. */
  async end(): Promise<void> {
    this.over = true;
    this.process.kill();
    await this.reaped;
  }

  /** Waits for the words that `isLast` recognises. Whatever else happens ends the program. */
  private async receive(
    { wallMs, signal }: { wallMs: number; signal: AbortSignal | undefined },
    isLast: (message: Message) => boolean,
  ): Promise<Message | ResidentBroken> {
    const timer = setTimeout(() => this.breakOff('timeout', `no answer within ${wallMs} ms`), wallMs);
    let lines = 0;
    let unsubscribe = () => {};
    const heard = await new Promise<Message | ResidentBroken>((settle) => {
      const end = (end: Message | ResidentBroken) => {
        // What follows the last word is already what nobody asked for.
        this.listener = undefined;
        settle(end);
      };
      this.listener = {
        broke: end,
        heard: (message) => {
          if (++lines > MOST_LINES) this.breakOff('protocol', 'the resident talks without end');
          else if (isLast(message)) end(message);
        },
      };
      if (this.over) end(new ResidentBroken('crash', 'the resident had ended'));
      unsubscribe = onAbort(signal, () => this.breakOff('cancelled', 'cancelled while the resident worked'));
    });
    clearTimeout(timer);
    unsubscribe();
    // Its processes are gone before anybody tries again.
    if (heard instanceof ResidentBroken) await this.reaped;
    return heard;
  }

  private onStdout(text: string): void {
    // Only what is new is looked through: a line may come byte by byte.
    const lines = text.split('\n');
    lines[0] = this.partialLine + (lines[0] ?? '');
    this.partialLine = lines.pop() ?? '';
    for (const line of lines) {
      // It goes on talking while it is being ended.
      if (this.over) break;
      const message = readMessage(line);
      if (message === undefined || this.listener === undefined) this.breakOff('protocol', 'the resident said what nobody asked for');
      else this.listener.heard(message);
    }
    if (this.partialLine.length > LONGEST_LINE) this.breakOff('protocol', 'the resident sent a line without end');
    if (this.over) this.partialLine = '';
  }

  private breakOff(why: BreakReason, message: string): void {
    if (!this.over) this.process.kill();
    this.over = true;
    this.listener?.broke(new ResidentBroken(why, message));
  }

  private distrust(cause: unknown): never {
    throw new ResidentBroken('protocol', 'the files could not be moved into or out of the folder of the resident', cause);
  }

  private async reap({ ended, code, signal, stderr }: Outcome): Promise<void> {
    const why = ended === 'memory' || ended === 'output' ? ended : 'crash';
    this.breakOff(why, `the resident ended: ${ended} ${code ?? signal ?? ''} ${stderr.slice(-2000)}`);
    // What cannot be removed now goes at the next start, and no later life has its name.
    for (const folder of [this.folders.folder, this.folders.desk]) await removeTree(folder).catch(() => {});
  }
}

/**
 * Resident bytes, with shared pages counted in each process: /proc/[pid]/status, whatever the size of a page, and task/[tid]/children (proc(5)). 0 once it has ended.
 * Read without leaving the thread: the kernel answers from memory, and it is asked after every conversion.
 */
export function residentBytesOf(pid: number): number {
  const bytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
  const children = tasksOf(pid)
    .flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter(Boolean);
  return children.reduce((sum, child) => sum + residentBytesOf(Number(child)), bytes);
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
