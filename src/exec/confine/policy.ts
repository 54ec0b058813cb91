/** What a confined program may do, what it is told, and how it ended. */

import type { Readable, Writable } from 'node:stream';
import type { StepLimits } from '../../catalog/engine.ts';
import type { Toolchain } from '../../contracts/toolchains.ts';

/** A toolchain, whose list is `images/<toolchain>/syscalls.txt`, or one of our own programs, whose list is `native/<program>/syscalls.txt`. */
export type CallList = Toolchain | NativeProgram;

/** What `scripts/build-native` builds. */
export const NATIVE_PROGRAMS = ['vips-server', 'chromium-child', 'own-tmpfile'] as const;
export type NativeProgram = (typeof NATIVE_PROGRAMS)[number];

/** Devices that a program may use, and what it needs for that. */
export interface DeviceAccess {
  /** Absolute paths of character devices, which it may read, write, map and control. */
  readonly files: readonly string[];
  /** Further paths that it may read: what drivers say about themselves. */
  readonly reads: readonly string[];
  /** How many there are, and where their libraries are, if the linker does not know. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Policy {
  /** The only folder that may be written: an absolute path without links, owned by `uid` if that is set. */
  readonly folder: string;
  /** Readable besides `SYSTEM_READS`: absolute paths of files and folders; missing ones are skipped. */
  readonly reads: readonly string[];
  /** Unset: none. */
  readonly devices?: DeviceAccess | undefined;
  /** On how many processors a model computes. Unset: one. */
  readonly threads?: number | undefined;
  /** How far it comes behind others at the processor, 0 to 19 (sched(7)). Unset: not at all. */
  readonly nice?: number | undefined;
  /** Which calls it needs beyond `native/syscalls.txt`. */
  readonly calls?: CallList | undefined;
  /** The unused user to run as: required when we are root, impossible when not. */
  readonly uid?: number | undefined;
  /** Whether it may use stream sockets of AF_UNIX, under `folder` only. */
  readonly unixSockets: boolean;
  /** Port of 127.0.0.1 that it may connect to, for programs that do not block on it; not together with `unixSockets`. */
  readonly tcpPort?: number | undefined;
  /** It serves each request in a separate process: a limit that is exceeded ends these first. See `Confined.clear`. */
  readonly forkServer?: boolean;
  /** Limits of the program with all its descendants. Zero for `wallMs` means no limit (a resident process). */
  readonly limits: StepLimits;
}

export interface Command {
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  /** Added to the whole environment: `PATH`, `LANG`, and `HOME` and `TMPDIR`, which are the folder. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with each line, cut at 8 KiB; a carriage return ends a line too. For a long-lived program with lines of stderr only. */
  readonly onLine?: ((line: string, stream: 'stdout' | 'stderr') => void) | undefined;
  /** For a fork server: its processes were killed because a limit was exceeded; `why` names it as `Outcome.ended` does. */
  readonly onSpared?: ((why: string) => void) | undefined;
  /** Bytes of stdout to keep, 1 MiB by default. More ends the program with `output`, or is dropped if `onLine` is set. */
  readonly keepBytes?: number | undefined;
}

export interface ProcessOutcome {
  /** `output`: a file, the folder or stdout grew too large. `launcher`: the program could not be confined; `stderr` says why. */
  readonly ended: 'exit' | 'signal' | 'time' | 'memory' | 'processes' | 'output' | 'cancelled' | 'launcher';
  /** Exit code; null unless it exited by itself. */
  readonly code: number | null;
  /** Such as `SIGKILL`, or null. */
  readonly signal: string | null;
  readonly stdout: Buffer;
  /** The last 16 KiB. */
  readonly stderr: string;
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly wallMs: number;
  /** Code of the system error, such as EMFILE, if the launcher itself could not be started: the program and the file are not to blame. */
  readonly notStarted?: string;
  /** See `LauncherOptions.record`; empty without it. */
  readonly otherCalls: readonly string[];
}

/** No process could be started on this machine: another try may succeed later, or elsewhere. */
export class SpawnFailed extends Error {
  override readonly name = 'SpawnFailed';
  /** Code of the system error, such as EMFILE. */
  readonly code: string;
  constructor(code: string) {
    super(`no process could be started (${code})`);
    this.code = code;
  }
}

export interface Confined {
  /** Process id of the supervisor, not of the program. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Never rejects. */
  readonly ended: Promise<ProcessOutcome>;
  kill(): void;
  /** Kills everything that the program has started, and not the program itself. Resolves when nothing of it lives, or the program ends as well. */
  clear(): Promise<void>;
}
