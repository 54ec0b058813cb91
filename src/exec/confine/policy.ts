/** What a confined program may do, what it is told, and how it ended. */

import type { Readable, Writable } from 'node:stream';
import type { StepLimits } from '../../catalog/engine.ts';
import type { Toolchain } from '../../contracts/toolchains.ts';

export interface Policy {
  /** The one place that may be written: absolute, without links on the way, owned by `uid` where that is given. */
  readonly folder: string;
  /** Read-only places beside `SYSTEM_READS`: absolute files and folders; missing ones are skipped. */
  readonly reads: readonly string[];
  /** Whose `images/<toolchain>/syscalls.txt` it needs; undefined for what every program may ask of the kernel (`native/syscalls.txt`). */
  readonly calls?: Toolchain | undefined;
  /** An unused user to become: needed when we are root, impossible when not. */
  readonly uid?: number | undefined;
  /** Stream sockets of AF_UNIX, under `folder` only. */
  readonly unixSockets: boolean;
  /** TCP to this port of 127.0.0.1, for programs that do not block on it; not together with `unixSockets`. */
  readonly tcpPort?: number | undefined;
  /** Of the program with all its descendants. Zero for `wallMs` means no end (a resident process). */
  readonly limits: StepLimits;
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
  /** The system's code, such as EMFILE, where not even the launcher could be started: nothing that was asked for is to blame. */
  readonly notStarted?: string;
  /** See `LauncherOptions.record`; empty without it. */
  readonly otherCalls: readonly string[];
}

/** No process could be started on this machine: the same may succeed later, or elsewhere. */
export class SpawnFailed extends Error {
  override readonly name = 'SpawnFailed';
  /** The system's, such as EMFILE. */
  readonly code: string;
  constructor(code: string) {
    super(`no process could be started (${code})`);
    this.code = code;
  }
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
