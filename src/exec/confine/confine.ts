/** Starts converters through the launcher, which confines and limits them, and reports how they ended. Nothing else starts a converter. */
import { join } from 'node:path';
import type { Cgroup, Cgroups } from './cgroups.ts';
import { askKernel, type KernelSupport } from './kernel.ts';
import type { CallList, Command, Confined, Policy, ProcessOutcome } from './policy.ts';
import { Run } from './run.ts';

export interface Launcher {
  /** Starts a long-lived program; the caller uses its stdin and stdout. */
  start(policy: Policy, command: Command): Confined;
  run(policy: Policy, command: Command): Promise<ProcessOutcome>;
  check(): Promise<KernelSupport>;
}

/** Paths that every converter may read: programs, libraries, fonts, and the few settings that they need. Missing ones are skipped. */
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

export interface LauncherOptions {
  /** Use only the features of this Landlock version, to test the behaviour on older kernels. */
  readonly landlockAbi?: number;
  /** Start programs even if the kernel has no Landlock: files are not confined then. */
  readonly withoutLandlock?: boolean;
  /** Control groups that programs run in; undefined where none can be made: then the launcher counts what they use. */
  readonly cgroups?: Cgroups | undefined;
  /** Called when the launcher itself could not be started. @param code of the system error, such as EMFILE */
  readonly onSpawnFailed?: (code: string) => void;
  /** Permit system calls outside the allowlist, and list them in `Outcome.otherCalls`, to find out what a program needs. */
  readonly record?: boolean;
}

/** @param path of the program that `scripts/build-launcher` builds */
export function launcherAt(path: string, options: LauncherOptions = {}): Launcher {
  const kernel = [
    ...(options.landlockAbi === undefined ? [] : ['--landlock-abi', String(options.landlockAbi)]),
    ...(options.withoutLandlock ? ['--without-landlock'] : []),
    ...(options.record ? ['--record'] : []),
  ];
  const start = (policy: Policy, command: Command, keepsStdout: boolean) => {
    const cgroup = options.cgroups?.make(policy);
    const run = new Run(path, [...kernel, ...argsFor(policy, command, cgroup)], policy, command, keepsStdout);
    void run.ended.then(({ notStarted }) => notStarted === undefined || options.onSpawnFailed?.(notStarted));
    void run.ended.then(() => cgroup?.remove());
    return run;
  };
  return {
    start: (policy, command) => start(policy, command, false),
    run: async (policy, command) => {
      const run = start(policy, command, true);
      run.stdin.end(command.stdin);
      return run.ended;
    },
    check: () => askKernel(path, kernel),
  };
}

/** Address space that programs reserve and never touch, bytes: Chromium 156 waits for ever where it gets less. Memory in use is counted all the same. */
const LEAST_DATA: Partial<Readonly<Record<CallList, number>>> = { web: 4 * 1024 ** 3 };

function argsFor(
  { folder, reads, devices, threads, nice, calls, uid, unixSockets, tcpPort, forkServer, limits }: Policy,
  { program, args, env }: Command,
  cgroup: Cgroup | undefined,
): string[] {
  const environment = {
    PATH: '/usr/bin:/bin',
    LANG: 'C.UTF-8',
    HOME: folder,
    TMPDIR: folder,
    ...(threads === undefined ? {} : { MODEL_THREADS: String(threads) }),
    ...devices?.env,
    ...env,
  };
  const options: Record<string, string | number> = {
    cwd: folder,
    data: Math.max(2 * limits.memoryBytes, (calls && LEAST_DATA[calls]) ?? 512 * 1024 * 1024),
    memory: limits.memoryBytes,
    disk: limits.folderBytes,
    cpu: limits.cpuSeconds,
    fsize: limits.fileBytes,
    nproc: limits.processes,
    wall: limits.wallMs,
    report: 3,
    parent: process.pid,
    ...(calls === undefined ? {} : { calls }),
    ...(uid === undefined ? {} : { uid }),
    ...(nice === undefined ? {} : { nice }),
    ...(tcpPort === undefined ? {} : { tcp: tcpPort }),
  };
  return [
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ...(cgroup?.paths ?? []).flatMap((path) => ['--cgroup', path]),
    ...[folder, '/dev/null'].flatMap((place) => ['--rw', place]),
    ...[...SYSTEM_READS, ...reads, ...(devices?.reads ?? [])].flatMap((place) => ['--ro', place]),
    ...(devices?.files ?? []).flatMap((file) => ['--device', file]),
    ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...(unixSockets ? ['--unix'] : []),
    ...(forkServer ? ['--fork-server'] : []),
    '--',
    program,
    ...args,
  ];
}
