/** Asks the launcher which confinement the kernel of this machine supports. */
import { spawn } from 'node:child_process';
import { Head } from './kept.ts';

export interface KernelSupport {
  readonly arch: string;
  /** 0 where there is none. */
  readonly landlockAbi: number;
  readonly seccomp: boolean;
  /** What a newer kernel would confine better, as sentences for a log. */
  readonly lacks: readonly string[];
}

/** The launcher's answer is one line. */
const KEPT = 16 * 1024;

/** By Landlock ABI (Documentation/userspace-api/landlock.rst): what is missing on kernels before this version. */
const GAINS: readonly (readonly [abi: number, lack: string])[] = [
  [1, 'files are not confined: the kernel has no Landlock, or it is not enabled (lsm=landlock)'],
  [2, 'files cannot be moved between folders'],
  [3, 'truncation is refused by system call, not by place'],
  [4, 'TCP is refused by system call only'],
  [5, 'device controls are not confined'],
  [6, 'signals are refused altogether, not only those to other programs'],
];

/** @param path of the launcher @param options of the launcher that concern the kernel */
export function askKernel(path: string, options: readonly string[]): Promise<KernelSupport> {
  return new Promise((settle, fail) => {
    const launcher = spawn(path, [...options, '--check'], { cwd: '/', env: {}, stdio: ['ignore', 'pipe', 'pipe'], timeout: 10_000 });
    launcher.once('error', (cause) =>
      fail(
        new Error(
          `the launcher ${path} cannot be started (${(cause as NodeJS.ErrnoException).code}); build it with scripts/build-launcher`,
          { cause },
        ),
      ),
    );
    const [head, complaint] = [new Head(KEPT), new Head(KEPT)];
    // When descriptors run out, a child process has no streams.
    (launcher.stdout as typeof launcher.stdout | undefined)?.on('data', (chunk: Buffer) => head.add(chunk));
    (launcher.stderr as typeof launcher.stderr | undefined)?.on('data', (chunk: Buffer) => complaint.add(chunk));
    launcher.once('close', (code) => {
      if (code !== 0) return fail(new Error(complaint.bytes().toString().trim() || `the launcher ${path} does not answer --check`));
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
