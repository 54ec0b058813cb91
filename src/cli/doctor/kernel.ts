/** What the kernel of this machine offers to confine converters. */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { openCgroups } from '../../exec/confine/cgroups.ts';
import { askKernel, type KernelSupport } from '../../exec/confine/kernel.ts';
import { broken, type Finding, fine, weak } from './finding.ts';

export interface KernelFacts {
  readonly release: string;
  /** An error where the launcher does not run. */
  readonly support: KernelSupport | Error;
  /** Why no cgroup can be made; undefined where one can. */
  readonly noCgroups: string | undefined;
  readonly isRoot: boolean;
  /** Most that one user may create; undefined where the kernel does not say. */
  readonly userNamespaces: number | undefined;
  /** Whether AppArmor leaves them to programs with a profile (Ubuntu). */
  readonly namespacesRestricted: boolean;
}

/** @param launcher path of the program */
export async function readKernel(launcher: string): Promise<KernelFacts> {
  const support = await askKernel(launcher, []).catch((error: Error) => error);
  const cgroups = support instanceof Error ? 'the launcher does not run' : await openCgroups(launcher);
  return {
    release: release(),
    support,
    noCgroups: typeof cgroups === 'string' ? cgroups : undefined,
    isRoot: process.getuid?.() === 0,
    userNamespaces: numberIn('/proc/sys/user/max_user_namespaces'),
    namespacesRestricted: numberIn('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === 1,
  };
}

function numberIn(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The newest version that confines more than the one before it (`exec/confine/kernel.ts`). */
const NEWEST_ABI = 6;
const NEWER_KERNEL = 'use a kernel from 6.12 on; what each version adds: docs/confinement.md';

export function judgeKernel(facts: KernelFacts): readonly Finding[] {
  const { support } = facts;
  if (support instanceof Error)
    return [broken('launcher', `converters cannot be started: ${support.message}`, 'run: make start'), ...judgeUsers(facts)];
  const { landlockAbi, seccomp, lacks } = support;
  const about = { landlock_abi: landlockAbi, kernel: facts.release };
  const landlock =
    landlockAbi === 0
      ? broken(
          'landlock',
          `the kernel ${facts.release} has no Landlock, or it is not enabled: converters could read every file, so the service does not start`,
          'use a kernel from 5.13 on, started with landlock among its lsm=…; in a container, that is the kernel of the host',
          about,
        )
      : landlockAbi < NEWEST_ABI
        ? weak('landlock', `converters are confined by version ${landlockAbi} of Landlock: ${lacks.join('; ')}`, NEWER_KERNEL, about)
        : fine('landlock', `each converter sees its own files only (Landlock, version ${landlockAbi})`, about);
  return [landlock, judgeSeccomp(seccomp), judgeCgroups(facts), ...judgeUsers(facts)];
}

const judgeSeccomp = (seccomp: boolean): Finding =>
  seccomp
    ? fine('seccomp', 'each converter may make listed system calls only', { seccomp })
    : broken(
        'seccomp',
        'the kernel has no seccomp: converters may make any system call',
        'use a kernel with CONFIG_SECCOMP_FILTER; a runtime of containers that forbids seccomp(2) hides it',
        { seccomp },
      );

const judgeCgroups = ({ noCgroups: why }: KernelFacts): Finding =>
  why === undefined
    ? fine('cgroups', 'the kernel limits memory and processes of each conversion by a cgroup', { cgroups: true })
    : weak(
        'cgroups',
        `memory and processes of conversions are measured by the launcher, because no cgroup can be made: ${why}`,
        'start as root, or by a systemd unit with Delegate=yes; a container needs a writable /sys/fs/cgroup and a limit of memory (docs/confinement.md)',
        { cgroups: false, why },
      );

function judgeUsers({ isRoot, userNamespaces, namespacesRestricted }: KernelFacts): readonly Finding[] {
  const users = isRoot
    ? fine('users', 'each converter runs as a separate user', { root: true })
    : weak(
        'users',
        'converters run as the user of the service: Landlock keeps their files apart, but they are one to the kernel’s accounts',
        'start as root, for each to run as a separate user; in a container this is as intended',
        { root: false },
      );
  const usable = (userNamespaces ?? 0) > 0 && !namespacesRestricted;
  const says = usable
    ? 'programs may create user namespaces: rootless containers work; filemill itself needs none'
    : 'programs may not create user namespaces: rootless containers do not work here; filemill itself needs none';
  return [users, fine('user-namespaces', says, { most: userNamespaces ?? null, restricted: namespacesRestricted })];
}
