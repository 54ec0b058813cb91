/** One resident process: serves job after job in its own folder, by itself or by a process that it forks for each, until it is replaced or fails. */

import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Conversation, StepLimits } from '../../catalog/engine.ts';
import { onAbort } from '../../streams/abort.ts';
import type { Launcher } from '../confine/confine.ts';
import type { CallList, Confined, ProcessOutcome } from '../confine/policy.ts';
import { removeTree } from '../files/remove.ts';
import type { Slot } from '../files/workspace.ts';
import { converse } from './converse.ts';
import { handIn, type JobPaths, type ResidentFolders, renamed, takeOut } from './handover.ts';
import { LONGEST_LINE, type ProgramAnswer, readAnswer, readMessage } from './messages.ts';
import { residentBytesOf } from './resident-bytes.ts';

/**
 * How the program is started, as `Toolbox.resolve` returns. It prints {"ready":true} when it can serve its first request, with what makes each
 * request's process a fresh one, if anything does: see `Freshness`.
 */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly reads: readonly string[];
  /** The system calls that it needs. */
  readonly calls?: CallList | undefined;
  readonly unixSockets: boolean;
  readonly forkServer?: boolean;
  /** It keeps models loaded: it ends when it is idle for some time, and before another one of the slot starts. */
  readonly holdsModels?: boolean;
  /** The only port of 127.0.0.1 that it may connect to. */
  readonly tcpPort?: number | undefined;
}

export interface ResidentRequestOptions {
  /** `wallMs` applies to this request; the others, except CPU seconds, to the lifetime of a process that this request starts. */
  readonly limits: StepLimits;
  readonly signal: AbortSignal;
  /** 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

/**
 * What reads a client's file has read no other, since the program forks a process for each request (`fork`), or since it is to serve one only
 * (`process`); with the reason, where a program that usually forks cannot do so here. Undefined: one process reads many clients' files.
 */
export interface Freshness {
  readonly by: 'fork' | 'process' | undefined;
  readonly reason?: string;
}

export type BreakReason = 'start' | 'crash' | 'timeout' | 'memory' | 'output' | 'cancelled' | 'protocol';

/** What served the request was killed and will not be used again. Except for timeouts and cancelled requests, one try in a new process is worthwhile. */
export class ResidentBroken extends Error {
  override readonly name = 'ResidentBroken';
  readonly why: BreakReason;
  /** It had read no other file: whatever broke it is in this one. */
  readonly wasFresh: boolean;
  constructor(why: BreakReason, message: string, cause?: unknown, wasFresh = false) {
    super(message, { cause });
    this.why = why;
    this.wasFresh = wasFresh;
  }
}

/** How to spawn a resident process. */
export interface ResidentProcessOptions {
  readonly launcher: Launcher;
  readonly slot: Slot;
  /** Name of its folders: unique in the slot. */
  readonly name: string;
}

type Message = Readonly<Record<string, unknown>>;

const START_MS = 60_000;
/** A process that was forked ahead is ready after some 10 ms, or it hangs, or the machine is busy: each further one has three times as long. */
const FORK_MS = 1_000;
const FORK_TRIES = 3;
/** RLIMIT_CPU counts a process's whole lifetime, which the number of its conversions and their wall-clock limits bound anyway. */
const LIFETIME_CPU_SECONDS = 7 * 24 * 3600;
/** A process grows over many requests, and each look at its memory reads some ten files of /proc. */
const MEASURED_MS = 1_000;
/** Our programs send fewer lines for one request. */
const MOST_LINES = 10_000;

export class ResidentProcess {
  /** It must get no more requests. */
  over = false;
  served = 0;
  freshness: Freshness = { by: undefined };
  /** Settles when a fork server has a process for the next request, or has ended. Never rejects. */
  renewed: Promise<void> = Promise.resolve();
  /** Why the launcher killed the process of the current request. */
  private killedFor: string | undefined;
  /** Processes that a fork server was asked for. */
  private forked = 0;
  /** There was a folder for the results before. */
  private tookOutput = false;
  private readonly folders: ResidentFolders;
  private readonly process: Confined;
  private readonly mayFork: boolean;
  /** Settles when its processes and folders are gone. Never rejects. */
  private readonly reaped: Promise<void>;
  private listener: { onMessage(message: Message): void; onBroken(error: ResidentBroken): void } | undefined;
  private partialLine = '';
  private measured = { at: Number.NEGATIVE_INFINITY, bytes: 0 };

  /** @throws ResidentBroken if it does not become ready */
  static async start({ launcher, slot, name }: ResidentProcessOptions, program: Program, limits: StepLimits): Promise<ResidentProcess> {
    const folders = { slot, folder: await slot.makeFolder(name), staging: await slot.makePrivateFolder(`${name}-staging`) };
    const resident = new ResidentProcess(launcher, folders, program, limits);
    const ready = await resident.receive({ wallMs: START_MS, signal: undefined }, isReady);
    if (ready instanceof ResidentBroken) {
      await resident.end();
      throw new ResidentBroken('start', `the resident did not start: ${ready.message}`, ready);
    }
    resident.freshness = freshnessIn(ready);
    return resident;
  }

  private constructor(
    launcher: Launcher,
    folders: ResidentFolders,
    { program, args, reads, calls, unixSockets, forkServer = false, tcpPort }: Program,
    limits: StepLimits,
  ) {
    this.folders = folders;
    this.mayFork = forkServer;
    const { folder, slot } = folders;
    const lifetimeLimits = { ...limits, wallMs: 0, cpuSeconds: LIFETIME_CPU_SECONDS };
    this.process = launcher.start(
      { folder, reads, calls, unixSockets, forkServer, tcpPort, limits: lifetimeLimits, uid: slot.uid, ...slot.computesOn },
      { program, args, onSpared: (why) => this.onRequestKilled(why) },
    );
    this.process.stdout.setEncoding('utf8').on('data', (text: string) => this.onStdout(text));
    this.reaped = this.process.ended.then((outcome) => this.reap(outcome));
  }

  /** Serves one request at a time. Afterwards none of its files is left in the program's folder, or the process is killed. @throws ResidentBroken */
  async serve(request: Message, files: JobPaths, { limits, signal, onProgress }: ResidentRequestOptions): Promise<ProgramAnswer> {
    this.served++;
    try {
      const names = this.handIn(files);
      this.process.stdin.write(`${JSON.stringify(renamed(request, names))}\n`);
      const last = await this.receive({ wallMs: limits.wallMs, signal }, (message) => {
        const { progress } = message;
        if (typeof progress === 'number' && progress >= 0 && progress <= 1) onProgress?.(progress);
        return readAnswer(message) !== undefined || (this.isForkServer && hasCrashed(message));
      });
      // Nothing of what read the file can change what it wrote from here on.
      if (this.isForkServer) await this.process.clear();
      if (last instanceof ResidentBroken) throw this.over ? last : this.requestBroken(last);
      const answer = readAnswer(last);
      if (answer === undefined) throw this.requestBroken(new ResidentBroken('crash', String(last['crashed'])));
      await takeOut(this.folders, answer.ok ? files.output : undefined).catch((cause: unknown) => this.handoverFailed(cause));
      if (this.isForkServer) this.renewed = this.renew();
      return answer;
    } catch (error) {
      if (error instanceof ResidentBroken && error.wasFresh && (await this.isEmptied())) this.renewed = this.renew();
      else await this.end();
      throw error;
    } finally {
      this.giveBackOutput(files);
    }
  }

  /**
   * Leads a conversation with a process that the program has forked for it, and that is gone at the end: what becomes of that process is an
   * answer. Otherwise as `serve`. @throws ResidentBroken
   */
  async talk(
    conversation: (at: (path: string) => string, memoryBytes: number) => Conversation,
    files: JobPaths,
    { limits, signal }: ResidentRequestOptions,
  ): Promise<ProgramAnswer> {
    this.served++;
    try {
      const names = this.handIn(files);
      const started = converse(
        conversation((path) => String(renamed(path, names)), limits.memoryBytes),
        join(this.folders.folder, 'job'),
        limits.wallMs,
      );
      this.process.stdin.write(started.opening);
      const last = await this.receive({ wallMs: limits.wallMs, signal }, (message) => {
        const { said } = message;
        if (typeof said === 'string') this.process.stdin.write(started.reply(said));
        return readAnswer(message) !== undefined;
      });
      if (last instanceof ResidentBroken) throw last;
      const answer = started.answer(readAnswer(last) ?? { ok: false });
      await takeOut(this.folders, answer.ok ? files.output : undefined).catch((cause: unknown) => this.handoverFailed(cause));
      return answer;
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      this.giveBackOutput(files);
    }
  }

  /** An empty one, where there is no result. Where something else has come to be there, the next step finds it. */
  private giveBackOutput({ output }: JobPaths): void {
    if (this.tookOutput && lstatSync(output, { throwIfNoEntry: false }) === undefined) this.folders.slot.makeOwned(output);
  }

  /** Kills the process. Resolves when its processes and folders are gone. */
  async end(): Promise<void> {
    this.over = true;
    this.process.kill();
    await this.reaped;
  }

  /** Process id of the supervisor. */
  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Resident bytes of the supervisor and all its descendants, at most `MEASURED_MS` ago. */
  residentBytes(): number {
    const now = performance.now();
    if (now - this.measured.at < MEASURED_MS) return this.measured.bytes;
    this.measured = { at: now, bytes: this.pid === undefined ? 0 : residentBytesOf(this.pid) };
    return this.measured.bytes;
  }

  /** Whether the program forks a process for each request. The launcher kills that process after its request, and the program forks the next one. */
  get isForkServer(): boolean {
    return this.mayFork && this.freshness.by === 'fork';
  }

  /** Waits for the message that `isLast` recognises. Anything unexpected kills the process. */
  private async receive(
    { wallMs, signal }: { wallMs: number; signal: AbortSignal | undefined },
    isLast: (message: Message) => boolean,
  ): Promise<Message | ResidentBroken> {
    const timer = setTimeout(() => this.giveUp('timeout', `no answer within ${wallMs} ms`), wallMs);
    let lines = 0;
    let unsubscribe = () => {};
    const received = await new Promise<Message | ResidentBroken>((settle) => {
      const finish = (last: Message | ResidentBroken) => {
        // A message after the last one is unexpected.
        this.listener = undefined;
        settle(last);
      };
      this.listener = {
        onBroken: finish,
        onMessage: (message) => {
          if (++lines > MOST_LINES) this.breakOff('protocol', 'the resident sent messages without end');
          else if (isLast(message)) finish(message);
        },
      };
      if (this.over) finish(new ResidentBroken('crash', 'the resident had ended'));
      unsubscribe = onAbort(signal, () => this.giveUp('cancelled', 'cancelled while the resident worked'));
    });
    clearTimeout(timer);
    unsubscribe();
    // Wait until its processes are gone, before the request is tried again.
    if (received instanceof ResidentBroken && this.over) await this.reaped;
    return received;
  }

  private onStdout(text: string): void {
    // Only the new text is searched: a line may arrive byte by byte.
    const lines = text.split('\n');
    lines[0] = this.partialLine + (lines[0] ?? '');
    this.partialLine = lines.pop() ?? '';
    for (const line of lines) {
      // It may still send messages while it is being killed.
      if (this.over) break;
      const message = readMessage(line);
      if (message === undefined || this.listener === undefined) this.breakOff('protocol', 'the resident sent an unexpected message');
      else this.listener.onMessage(message);
    }
    if (this.partialLine.length > LONGEST_LINE) this.breakOff('protocol', 'the resident sent a line without end');
    if (this.over) this.partialLine = '';
  }

  /** Has a fork server make a process for the next request. One that is not ready in time is killed and another made. */
  private async renew(): Promise<void> {
    this.killedFor = undefined;
    for (let tries = 0; tries < FORK_TRIES && !this.over; tries++) {
      // What it may still say of the last request is read meanwhile, and ignored.
      const number = ++this.forked;
      const told = this.receive({ wallMs: FORK_MS * 3 ** tries, signal: undefined }, (message) => message['next'] === number);
      await this.process.clear();
      this.process.stdin.write(`${JSON.stringify({ next: number })}\n`);
      const message = await told;
      if (!(message instanceof ResidentBroken) && isReady(message)) return;
    }
    this.breakOff('start', 'no forked process became ready');
  }

  private onRequestKilled(why: string): void {
    this.killedFor = why;
    this.giveUp('crash', `the process of the request was killed: ${why}`);
  }

  /** The process of this request is gone, and the server is not. */
  private requestBroken({ why, message }: ResidentBroken): ResidentBroken {
    const killed = this.killedFor === 'memory' || this.killedFor === 'output' ? this.killedFor : why;
    return new ResidentBroken(killed, message, undefined, true);
  }

  private isEmptied(): Promise<boolean> {
    return takeOut(this.folders, undefined).then(
      () => true,
      () => false,
    );
  }

  /** In a fork server, only the process of this request is to blame: the caller has it killed. */
  private giveUp(why: BreakReason, message: string): void {
    if (this.isForkServer) {
      this.listener?.onBroken(new ResidentBroken(why, message));
      this.listener = IGNORED;
    } else this.breakOff(why, message);
  }

  private breakOff(why: BreakReason, message: string): void {
    if (!this.over) this.process.kill();
    this.over = true;
    this.listener?.onBroken(new ResidentBroken(why, message));
  }

  private handIn(files: JobPaths): ReturnType<typeof handIn> {
    this.tookOutput = existsSync(files.output);
    try {
      return handIn(this.folders, files);
    } catch (cause) {
      this.handoverFailed(cause);
    }
  }

  private handoverFailed(cause: unknown): never {
    throw new ResidentBroken('protocol', 'the files could not be moved into or out of the folder of the resident', cause);
  }

  private async reap({ ended, code, signal, stderr }: ProcessOutcome): Promise<void> {
    const why = ended === 'memory' || ended === 'output' ? ended : 'crash';
    this.breakOff(why, `the resident ended: ${ended} ${code ?? signal ?? ''} ${stderr.slice(-2000)}`);
    // Folders that cannot be removed now are removed at the next start; no later process has the same name.
    for (const folder of [this.folders.folder, this.folders.staging]) await removeTree(folder).catch(() => {});
  }
}

const IGNORED = { onMessage: () => {}, onBroken: () => {} };

const hasCrashed = (message: Message): boolean => typeof message['crashed'] === 'string';
const isReady = (message: Message): boolean => message['ready'] === true;

function freshnessIn({ fresh, reason }: Message): Freshness {
  const by = fresh === 'fork' || fresh === 'process' ? fresh : undefined;
  return typeof reason === 'string' && /^[\x20-\x7e]{1,200}$/.test(reason) ? { by, reason } : { by };
}
