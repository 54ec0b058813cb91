/** Control groups, by which the kernel itself limits what each conversion uses: where this process may make them (version 2, else version 1). */
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWithin, partsBelow } from '../../paths.ts';
import { askKernel, type KernelSupport } from './kernel.ts';
import type { Policy } from './policy.ts';

export interface Cgroups {
  /** The answer of a launcher that was started in a control group. */
  readonly kernel: KernelSupport;
  /** Makes one for a single run of a program. @returns undefined where none can be made any more: the launcher counts instead */
  make(policy: Pick<Policy, 'folder' | 'limits' | 'forkServer'>): Cgroup | undefined;
}

export interface Cgroup {
  /** Folders of it: one, or one of each hierarchy of version 1. */
  readonly paths: readonly string[];
  /** Once its program has ended. What is left of that is killed. */
  remove(): Promise<void>;
}

/** A folder in which cgroups can be made, and how their limits are called there. */
interface Place {
  readonly folder: string;
  limits(memoryBytes: number, processes: number): Readonly<Record<string, number>>;
}

/** Linux magic number of tmpfs (statfs(2)), where files are memory. */
const TMPFS = 0x01021994;
const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 100;
const FILE_SYSTEM = '/sys/fs/cgroup';

/** Identifies the process that created it, so that others can tell whether it still runs: its pid namespace, pid and start time. */
const PREFIX = 'filemill-';
let made = 0;

/**
 * Removes what crashed processes left, and tries whether a program can be run in a cgroup.
 * @param launcher path of the program
 * @param onFailed called with a sentence when none can be made any more, for some run
 * @returns a sentence that says why not, where there are none to be had
 */
export async function openCgroups(launcher: string, onFailed: (why: string) => void = () => {}): Promise<Cgroups | string> {
  try {
    const places = findPlaces();
    for (const { folder } of places) await removeLeftovers(folder);
    const maker = identity('self');
    const tried = makeIn(places, maker, { memoryBytes: 64 * 2 ** 20, processes: 8, endsAsOne: true });
    try {
      const kernel = await askKernel(
        launcher,
        tried.paths.flatMap((path) => ['--cgroup', path]),
      );
      return cgroupsIn(places, maker, kernel, onFailed);
    } finally {
      await tried.remove();
    }
  } catch (error) {
    return (error as Error).message;
  }
}

const cgroupsIn = (places: readonly Place[], maker: string, kernel: KernelSupport, onFailed: (why: string) => void): Cgroups => ({
  kernel,
  make({ folder, limits, forkServer = false }) {
    try {
      // What is written to a folder of memory is charged to its writer.
      const ofFolder = statfsSync(folder).type === TMPFS ? limits.folderBytes : 0;
      return makeIn(places, maker, { memoryBytes: limits.memoryBytes + ofFolder, processes: limits.processes, endsAsOne: !forkServer });
    } catch (error) {
      onFailed((error as Error).message);
      return undefined;
    }
  },
});

interface CgroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  /** A program that ran out of memory is ended with all its processes; one that forks a process for each file loses only the largest. */
  readonly endsAsOne: boolean;
}

// Synchronous: each call takes microseconds, and the thread pool would cost twenty times that.
function makeIn(places: readonly Place[], maker: string, { memoryBytes, processes, endsAsOne }: CgroupLimits): Cgroup {
  const name = `${PREFIX}${maker}-${++made}`;
  const paths = places.map(({ folder }) => join(folder, name));
  const remove = async () => {
    await Promise.all(paths.map(removeCgroup));
  };
  try {
    for (const [at, path] of paths.entries()) {
      mkdirSync(path);
      for (const [file, value] of Object.entries(places[at]?.limits(memoryBytes, processes) ?? {})) {
        // Without a count of swap there is no file to limit it.
        if (!isSwap(file) || existsSync(join(path, file))) writeFileSync(join(path, file), String(value));
      }
      // Version 1 kills one, and the launcher the others.
      if (endsAsOne && existsSync(join(path, 'memory.oom.group'))) writeFileSync(join(path, 'memory.oom.group'), '1');
    }
  } catch (error) {
    void remove();
    throw error;
  }
  return { paths, remove };
}

const isSwap = (file: string): boolean => /swap|memsw/.test(file);

async function removeCgroup(path: string): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES; tries++) {
    try {
      rmdirSync(path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    }
    killAllIn(path);
    // The timer keeps the process alive: one that does nothing else, as at its start, would end here.
    await sleep(REMOVE_PAUSE_MS);
  }
}

function killAllIn(path: string): void {
  try {
    for (const pid of readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)) {
      // 0 is a process that our pid namespace does not show.
      if (pid > 0) process.kill(pid, 'SIGKILL');
    }
  } catch {
    // It has ended meanwhile.
  }
}

/** Cgroups of processes that have ended. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    const [, namespace, pid] = /^filemill-(\d+)-(\d+)-\d+-\d+$/.exec(name) ?? [];
    if (pid === undefined || namespace !== pidNamespace()) continue;
    if (!name.startsWith(`${PREFIX}${identity(pid)}-`)) await removeCgroup(join(folder, name));
  }
}

const pidNamespace = (): string => /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';

/** @returns pid namespace, pid and start time of a process (proc_pid_stat(5)), as a part of a name */
function identity(process: string): string {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, 'utf8');
    return `${pidNamespace()}-${stat.split(' ', 1)[0]}-${stat.slice(stat.lastIndexOf(')')).split(' ')[20]}`;
  } catch {
    return 'ended';
  }
}

// ---- where cgroups can be made ----

/** @throws an error that says why there is no place */
function findPlaces(): readonly Place[] {
  const mounts = readMounts();
  /** Lines of cgroups(7): number, controllers and path. */
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const own = new Map(lines.map((line) => line.split(':')).map(([, controllers = '', ...path]) => [controllers, path.join(':')] as const));
  const unified = mounts.find(({ type }) => type === 'cgroup2');
  const inUnified = unified && folderIn(unified, own.get('') ?? '/');
  if (inUnified !== undefined && unified !== undefined && limitsMemory(inUnified))
    return [{ folder: placeOfVersion2(unified.point, inUnified), limits: limitsOfVersion2 }];
  return (['memory', 'pids'] as const).map((controller) => {
    const mount = mounts.find(({ type, options }) => type === 'cgroup' && options.includes(controller));
    const path = [...own].find(([controllers]) => controllers.split(',').includes(controller))?.[1];
    const folder = mount && path !== undefined ? folderIn(mount, path) : undefined;
    if (folder === undefined) throw new Error(`the cgroup of this process has no controller "${controller}"`);
    return { folder, limits: LIMITS_OF_VERSION_1[controller] };
  });
}

const limitsOfVersion2: Place['limits'] = (memoryBytes, processes) => ({
  'memory.max': memoryBytes,
  'memory.swap.max': 0,
  'pids.max': processes,
});
/** In this order: memory and swap together can be no less than memory. */
const LIMITS_OF_VERSION_1: Readonly<Record<'memory' | 'pids', Place['limits']>> = {
  memory: (bytes) => ({ 'memory.limit_in_bytes': bytes, 'memory.memsw.limit_in_bytes': bytes }),
  pids: (_bytes, processes) => ({ 'pids.max': processes }),
};

interface Mount {
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** Fields of proc_pid_mountinfo(5). */
function readMounts(): readonly Mount[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', point = ''] = before.split(' ');
    const [type = '', , options = ''] = after.split(' ');
    return isWithin(FILE_SYSTEM, point) ? [{ root, point, type, options: options.split(',') }] : [];
  });
}

/** A container may see only a part of a hierarchy. */
function folderIn({ root, point }: Mount, path: string): string | undefined {
  const below = partsBelow(root, path);
  return below && join(point, ...below);
}

const controllersOf = (folder: string, file: string): ReadonlySet<string> =>
  new Set(readFileSync(join(folder, file), 'utf8').trim().split(' '));
const limitsMemory = (folder: string): boolean => controllersOf(folder, 'cgroup.controllers').has('memory');
const delegates = (folder: string): boolean =>
  ['memory', 'pids'].every((each) => controllersOf(folder, 'cgroup.subtree_control').has(each));

/**
 * A cgroup of version 2 holds processes or has limited children, not both. So children of our own are possible only where it is ours alone: that
 * of a systemd unit with `Delegate=yes`, or of a container. We move into a child first. Else, as in a login session, they become our siblings.
 */
function placeOfVersion2(top: string, own: string): string {
  if (delegates(own)) return own;
  const processes = readFileSync(join(own, 'cgroup.procs'), 'utf8').trim().split('\n');
  const isOurs = own === top || processes.join() === String(process.pid);
  if (isOurs) {
    try {
      // The root of the machine may hold processes, and has no type.
      if (existsSync(join(own, 'cgroup.type'))) {
        mkdirSync(join(own, 'service'), { recursive: true });
        for (const pid of processes) moveInto(join(own, 'service'), pid);
      }
      writeFileSync(join(own, 'cgroup.subtree_control'), '+memory +pids');
      return own;
    } catch (error) {
      if (own === top) throw error;
    }
  }
  if (own !== top && delegates(dirname(own))) return dirname(own);
  throw new Error(`the cgroup ${own} is shared with other processes, and the one above limits neither memory nor processes`);
}

function moveInto(folder: string, pid: string): void {
  try {
    writeFileSync(join(folder, 'cgroup.procs'), pid);
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
