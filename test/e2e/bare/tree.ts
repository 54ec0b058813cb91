/**
 * A bare Debian 12 in a folder, and layers over it in which programs run as on a separate machine: with its files, processes and mounts,
 * and the network of this machine. When the first program of a layer ends, the kernel ends all others and takes the mounts away.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { chmod, copyFile, cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkout, program } from '../cluster.ts';

const MIRROR = 'http://deb.debian.org';
const SUITES = [
  `deb ${MIRROR}/debian bookworm main`,
  `deb ${MIRROR}/debian bookworm-updates main`,
  `deb ${MIRROR}/debian-security bookworm-security main`,
];
/** What README.md asks for, what a user who is not root needs, and certificates, which git and npm bring along only where apt's recommendations count. */
const PACKAGES = ['git', 'make', 'npm', 'sudo', 'ca-certificates'];
const CACHE = join(checkout, '.cache/bare');
const BASE = join(CACHE, 'debian-12');
const WORK = join(CACHE, 'layers');
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

/** Kept from run to run: Debian's archives and npm's are downloaded once, too. */
async function makeBase(): Promise<void> {
  await Promise.all(['apt', 'npm'].map((name) => mkdir(join(CACHE, name), { recursive: true })));
  if (existsSync(BASE)) return;
  const unfinished = `${BASE}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const acquire = join(CACHE, 'acquire.conf');
  await writeFile(acquire, await program('apt-config', ['dump', 'Acquire']));
  // These files need not survive a power failure, so dpkg does not wait for the disk.
  const options = ['--variant=minbase', `--include=${PACKAGES.join(',')}`, `--aptopt=${acquire}`, '--dpkgopt=force-unsafe-io'];
  await program('mmdebstrap', [...options, 'bookworm', unfinished, ...SUITES], 600_000);
  await rename(unfinished, BASE);
}

/** How this machine reaches registries: addresses, authorities, npm's configuration. It goes into layers alone, which do not stay. */
async function takeConfiguration(root: string, home: string): Promise<void> {
  const npmConfig = async (name: string) => (await program('npm', ['config', 'get', name])).trim();
  const copies: readonly (readonly [from: string, to: string])[] = [
    ['/etc/resolv.conf', '/etc/resolv.conf'],
    ['/etc/hosts', '/etc/hosts'],
    [AUTHORITIES, AUTHORITIES],
    [await npmConfig('globalconfig'), '/etc/npmrc'],
    [await npmConfig('userconfig'), `${home}/.npmrc`],
  ];
  for (const [from, to] of copies) {
    if (!existsSync(from)) continue;
    await mkdir(dirname(join(root, to)), { recursive: true });
    await copyFile(from, join(root, to));
  }
  // From here the bundle is made again whenever a package brings an authority along.
  if (existsSync('/usr/local/share/ca-certificates'))
    await cp('/usr/local/share/ca-certificates', join(root, 'usr/local/share/ca-certificates'), { recursive: true });
}

export interface User {
  readonly uid: number;
  readonly home: string;
}
export const ROOT: User = { uid: 0, home: '/root' };

export interface Layer {
  /** Its own files, without those of the layers below. */
  readonly upper: string;
  /** Starts the only program that runs in it; others may follow when it has ended. Its output is standard output and error in one. */
  start(user: User, command: string, variables?: Readonly<Record<string, string>>): Running;
}
export interface Running {
  readonly child: ChildProcess;
  /** Resolves when the first program, and with it all others, have ended. @returns whether well, and all that they said */
  readonly ended: Promise<{ readonly well: boolean; readonly said: string }>;
  /** What it has said until now. */
  said(): string;
  kill(): void;
}

/** Mounts are made in a namespace of mounts, so that they cannot outlive the processes in it. Arguments: the layers below, its own folder, npm's cache. */
const ENTER = `
  set -eu
  below=$1 own=$2 cache=$3 home=$4 user=$5
  shift 5
  root=$own/root
  mount -t overlay overlay -o "lowerdir=$below,upperdir=$own/upper,workdir=$own/work" "$root"
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount --bind "$cache/apt" "$root/var/cache/apt/archives"
  mkdir -p "$root$home/.npm"
  mount --bind "$cache/npm" "$root$home/.npm"
  chown -R "$user:$user" "$root$home/.npm"
  exec chroot --userspec="$user:$user" --groups= "$root" "$@"`;

export class Trees {
  #layers: string[] = [];
  readonly #running = new Set<Running>();

  /** @throws where it cannot be made, as without a registry */
  static async open(): Promise<Trees> {
    await rm(WORK, { recursive: true, force: true });
    await makeBase();
    const trees = new Trees();
    // Also when it is interrupted: `run.ts` ends without a look at what its parts still do.
    process.on('exit', () => trees.removeNow());
    return trees;
  }

  /** A layer over all those before it, which must be at rest, with this machine's configuration and a copy of the checkout in the home folder. */
  async layer(name: string, { uid, home }: User): Promise<Layer> {
    const own = join(WORK, name);
    const [upper, folder] = [join(own, 'upper'), join(own, 'upper', home, 'filemill')];
    for (const part of [join(own, 'root'), join(own, 'work'), folder]) await mkdir(part, { recursive: true });
    await chmod(join(upper, home), 0o755);
    await takeConfiguration(upper, home);
    const files = 'git ls-files -z --cached --others --exclude-standard --deduplicate';
    await program('sh', [
      '-c',
      `${files} | tar --null --files-from=- --ignore-failed-read -c | tar -x --no-same-owner -C "$1"`,
      'sh',
      folder,
    ]);
    await program('chown', ['-R', `${uid}:${uid}`, join(upper, home)]);
    const below = [...this.#layers, BASE].join(':');
    this.#layers = [upper, ...this.#layers];
    return { upper, start: (user, command, variables = {}) => this.#start(own, below, user, command, variables) };
  }

  #start(own: string, below: string, { uid, home }: User, command: string, variables: Readonly<Record<string, string>>): Running {
    const proxies = Object.entries(process.env).filter(([name]) => /^(https?|no)_proxy$|^npm_config_registry$/i.test(name));
    const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: home, TERM: 'dumb', ...variables };
    // Node brings its own authorities, and takes those of this machine only where it is told to.
    const all = { ...Object.fromEntries(proxies), ...(existsSync(AUTHORITIES) && { NODE_EXTRA_CA_CERTS: AUTHORITIES }), ...environment };
    const settings = Object.entries(all).map(([name, value]) => `${name}=${value}`);
    const inside = ['env', '-i', ...settings, 'sh', '-c', `exec 2>&1; cd ~/filemill && ${command}`];
    const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--propagation=private'];
    const child = spawn(
      'setpriv',
      ['--pdeathsig=KILL', 'unshare', ...namespaces, 'sh', '-c', ENTER, 'sh', below, own, CACHE, home, `${uid}`, ...inside],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
    const running: Running = {
      child,
      ended: once(child, 'close').then(([status]) => {
        this.#running.delete(running);
        return { well: status === 0, said: text };
      }),
      said: () => text,
      kill: () => killFirst(child),
    };
    this.#running.add(running);
    return running;
  }

  /** Ends what runs, and removes all layers. The bare Debian stays for the next time. */
  removeNow(): void {
    for (const running of this.#running) running.kill();
    this.#running.clear();
    this.#layers = [];
    rmSync(WORK, { recursive: true, force: true });
  }
}

/** Ends the first process of the namespace, for which `unshare` waits: when that has ended, nothing runs there any more. */
function killFirst({ pid }: ChildProcess): void {
  try {
    for (const first of readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' '))
      if (first !== '') process.kill(Number(first), 'SIGKILL');
  } catch (error) {
    // It has ended.
    if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** The end of what a program said, for an error. */
export const endOf = (said: string): string =>
  said
    .split(/[\r\n]+/)
    .slice(-15)
    .join('\n');
