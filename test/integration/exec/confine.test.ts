/** A hostile program, run confined as root and as a plain user: it reaches nothing outside its folder and exceeds no limit. */
import { execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { StepLimits } from '../../../src/catalog/engine.ts';
import { type Cgroups, openCgroups } from '../../../src/exec/confine/cgroups.ts';
import { type LauncherOptions, launcherAt } from '../../../src/exec/confine/confine.ts';
import type { Command, Policy, ProcessOutcome } from '../../../src/exec/confine/policy.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const LAUNCHER = join(ROOT, '.cache/bin/launcher');
const WE_ARE_ROOT = process.getuid?.() === 0;
/** Numbers that no account has. */
const SLOT_USER = 1_929_999_998;
const PLAIN_USER = 1_929_999_999;
const CANARY = 'canary-5f1c';
const MB = 1024 * 1024;

const limits = (change: Partial<StepLimits> = {}): StepLimits => ({
  memoryBytes: 256 * MB,
  cpuSeconds: 10,
  fileBytes: 8 * MB,
  folderBytes: 64 * MB,
  processes: 32,
  wallMs: 20_000,
  ...change,
});

type Run = (policy: Policy, command: Command, options?: LauncherOptions) => Promise<ProcessOutcome>;
interface Mode {
  /** The user that the confined program has. */
  readonly user: number;
  readonly slotUser: number | undefined;
  readonly run: Run;
  readonly close: () => void;
}

const inThisProcess: Run = (policy, command, options) => launcherAt(LAUNCHER, options).run(policy, command);

/** Reads runs as lines of JSON and answers with their outcomes: a server of another user, or one to be killed. */
const SERVER = `
  import { createInterface } from 'node:readline';
  import { launcherAt } from ${JSON.stringify(join(ROOT, 'src/exec/confine/confine.ts'))};
  for await (const line of createInterface({ input: process.stdin })) {
    const { path, options, policy, command, id } = JSON.parse(line);
    launcherAt(path, options).run(policy, command).then((outcome) =>
      console.log(JSON.stringify({ id, outcome: { ...outcome, stdout: outcome.stdout.toString('latin1') } })));
  }`;

/** A user in so many groups that they alone fill a page of /proc/[pid]/status, as users of a directory service may be. */
const become = (user: number) => `
  process.setgroups(Array.from({ length: 600 }, (_, i) => 1_900_000_000 + i));
  process.setgid(${user});
  process.setuid(${user});`;

function startServer(user: number | undefined) {
  const server = spawn(process.execPath, ['--input-type=module', '-e', user === undefined ? SERVER : `${become(user)}${SERVER}`], {
    cwd: '/',
    env: { SECRET: CANARY },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting = new Map<string, (outcome: ProcessOutcome) => void>();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const { id, outcome } = JSON.parse(line);
    waiting.get(id)?.({ ...outcome, stdout: Buffer.from(outcome.stdout, 'latin1') });
  });
  const run: Run = (policy, command, options = {}) =>
    new Promise((settle) => {
      const id = randomUUID();
      waiting.set(id, settle);
      // Cgroups are this process's own.
      server.stdin.write(`${JSON.stringify({ id, path: LAUNCHER, options: { ...options, cgroups: undefined }, policy, command })}\n`);
    });
  return { run, pause: () => server.kill('SIGSTOP'), kill: () => server.kill('SIGKILL') };
}

function openMode(name: string): Mode {
  if (name === 'root') return { user: SLOT_USER, slotUser: SLOT_USER, run: inThisProcess, close: () => {} };
  if (!WE_ARE_ROOT) return { user: process.getuid?.() ?? 0, slotUser: undefined, run: inThisProcess, close: () => {} };
  const server = startServer(PLAIN_USER);
  return { user: PLAIN_USER, slotUser: undefined, run: server.run, close: server.kill };
}

/** All belongs to the confined program's own user, and everybody may read it: only the confinement protects it. */
class Scene {
  readonly base = mkdtempSync(join(tmpdir(), 'confine-'));
  readonly slot = this.folder('slot');
  readonly database = this.file('server/filemill.db');
  readonly key = this.file('server/key.pem');
  readonly otherSlot = this.file('other-slot/input.pdf');
  readonly streamSocket = join(this.folder('sockets'), 'stream');
  readonly datagramSocket = join(this.base, 'sockets/datagram');
  readonly abstractSocket = `@confine-${randomUUID()}`;
  readonly user: number;

  constructor(user: number) {
    this.user = user;
    chmodSync(this.base, 0o755);
    for (const path of [this.base, ...readdirSync(this.base, { recursive: true, encoding: 'utf8' }).map((name) => join(this.base, name))])
      this.own(path);
  }

  file(name: string): string {
    const path = join(this.base, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, CANARY);
    this.own(path);
    return path;
  }

  folder(name: string): string {
    const path = join(this.base, name);
    mkdirSync(path, { recursive: true });
    this.own(path);
    return path;
  }

  emptySlot(): void {
    rmSync(this.slot, { recursive: true, force: true });
    this.folder('slot');
  }

  private own(path: string): void {
    if (WE_ARE_ROOT && this.user !== undefined) chownSync(path, this.user, this.user);
  }
}

let workshop: string;
let probe: string;
/** Where this process may make none, what runs in cgroups is not tried. */
const cgroups = await (async (): Promise<Cgroups | undefined> => {
  execFileSync(join(ROOT, 'scripts/build-launcher'));
  const opened = await openCgroups(LAUNCHER);
  return typeof opened === 'string' ? undefined : opened;
})();

beforeAll(() => {
  workshop = mkdtempSync(join(tmpdir(), 'probe-'));
  chmodSync(workshop, 0o755);
  probe = join(workshop, 'probe');
  execFileSync('cc', [
    '-static',
    '-O2',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-pthread',
    '-o',
    probe,
    join(ROOT, 'test/integration/exec/probe.c'),
  ]);
});
afterAll(() => rmSync(workshop, { recursive: true, force: true }));

/** Starts the probe with nothing around it. */
function unconfined(args: readonly string[], user: number, cwd: string) {
  const as: SpawnOptions = WE_ARE_ROOT ? { uid: user, gid: user } : {};
  return spawn(probe, args, { ...as, cwd, env: { SECRET: CANARY }, stdio: ['ignore', 'pipe', 'inherit'] });
}

async function exitOf(args: readonly string[], user: number, cwd: string): Promise<number | null> {
  // Not 'close': descendants may hold its stdout for ever.
  const [code] = await once(unconfined(args, user, cwd), 'exit');
  return code;
}

/** A process outside, of the same user, that listens on sockets and has a secret in its environment. */
async function startBystander(scene: Scene) {
  const child = unconfined(['serve', scene.streamSocket, scene.datagramSocket, scene.abstractSocket], scene.user, scene.base);
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

/** System V objects outside, of the same user. They are removed when its stdin ends. */
async function startIpc(scene: Scene) {
  const as: SpawnOptions = WE_ARE_ROOT ? { uid: scene.user, gid: scene.user } : {};
  const child = spawn(probe, ['serve-ipc'], { ...as, cwd: scene.base, env: {}, stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  const [queue = 0, segment = 0, semaphores = 0] = String(line).split(' ').map(Number);
  return { queue, segment, semaphores, end: () => child.stdin?.end() };
}

/** Processes whose command line holds `word`, other than zombies. */
const processesWith = (word: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
        return line.startsWith(probe) && line.includes(word);
      } catch {
        return false;
      }
    })
    .map(Number);

async function eventually(holds: () => boolean): Promise<void> {
  const until = Date.now() + 15_000;
  while (!holds()) {
    if (Date.now() > until) throw new Error('it did not come true within 15 s');
    await sleep(20);
  }
}

interface At extends Scene {
  readonly bystander: number;
  /** Numbers of System V objects of the same user. */
  readonly queue: number;
  readonly segment: number;
  readonly spareSegment: number;
  readonly semaphores: number;
}
/** Whether it is allowed when nothing confines: to the same user, to root only, or nowhere (then only the refusal is shown). */
type Control = 'user' | 'root' | 'none';
type Attempt = readonly [sentence: string, args: (at: At) => readonly (string | number)[], control?: Control];

/** A program that renames as fast as it can takes the folder's lock from the process that fills it. */
const RENAMING: Partial<StepLimits> = { cpuSeconds: 60, wallMs: 60_000 };
const NEW_USER_NAMESPACE = 0x10000000;
const ATTEMPTS: readonly Attempt[] = [
  ['opens an IPv4 stream socket', () => ['socket', 2, 1]],
  ['opens an IPv4 datagram socket', () => ['socket', 2, 2]],
  ['opens an IPv6 socket', () => ['socket', 10, 1]],
  ['opens a packet socket', () => ['socket', 17, 3], 'root'],
  ['opens a netlink socket', () => ['socket', 16, 3]],
  ['opens a vsock socket', () => ['socket', 40, 1], 'none'],
  ['opens a unix socket', () => ['socket', 1, 1]],
  ['connects to a unix socket outside', (at) => ['connect', at.streamSocket]],
  ['connects to an abstract unix socket', (at) => ['connect', at.abstractSocket]],
  ['sends to a unix socket outside from a pair', (at) => ['send-from-pair', at.datagramSocket]],

  ['reads the database', (at) => ['read', at.database]],
  ['reads a key', (at) => ['read', at.key]],
  ['reads a file of another slot', (at) => ['read', at.otherSlot]],
  ['reads through its own folder', (at) => ['read', `${at.slot}/../server/key.pem`]],
  ['reads through its root link', (at) => ['read', `/proc/self/root${at.key}`]],
  ['reads /etc/shadow', () => ['read', '/etc/shadow'], 'root'],
  ['reads /etc/hosts', () => ['read', '/etc/hosts']],
  ["reads another process's environment", (at) => ['read', `/proc/${at.bystander}/environ`]],
  ["reads another process's command line", (at) => ['read', `/proc/${at.bystander}/cmdline`]],
  ["reads the server's command line", () => ['read', `/proc/${process.pid}/cmdline`]],
  ['reads the list of network connections', () => ['read', '/proc/self/net/unix']],
  ['lists processes', () => ['list', '/proc']],
  ['lists the temporary folder', () => ['list', tmpdir()]],
  ['lists the other slots', (at) => ['list', at.base]],
  ['watches a folder outside', (at) => ['watch', join(at.base, 'server')]],
  ['creates a file in the temporary folder', () => ['create', join(tmpdir(), `confine-${randomUUID()}`)], 'none'],
  ['creates a file in shared memory', () => ['create', `/dev/shm/confine-${randomUUID()}`], 'none'],
  ['links to a file outside', (at) => ['link', at.key, `${at.slot}/key-${randomUUID()}`]],
  ['makes a symbolic link', (at) => ['symlink', '/etc/shadow', `${at.slot}/link-${randomUUID()}`]],
  ['makes a FIFO', (at) => ['fifo', `${at.slot}/fifo-${randomUUID()}`]],

  ['signals a process outside', (at) => ['kill', at.bystander]],
  ['signals its supervisor', () => ['kill-parent'], 'root'],
  ['signals a thread outside', (at) => ['tkill', at.bystander]],
  ['signals a thread of a group outside', (at) => ['tgkill', at.bystander]],
  ['queues a signal for a process outside', (at) => ['sigqueue', at.bystander]],
  ['signals a process outside by descriptor', (at) => ['pidfd-signal', at.bystander]],
  ['changes the limits of a process outside', (at) => ['limit-other', at.bystander]],
  ['slows a process outside', (at) => ['slow-other', at.bystander]],
  ['slows all of its user', () => ['slow-user'], 'none'],
  ['traces a process outside', (at) => ['trace', at.bystander], 'none'],
  ['reads the memory of a process outside', (at) => ['read-memory', at.bystander]],

  ['makes a user namespace by clone', () => ['clone', NEW_USER_NAMESPACE]],
  ['makes a traced child', () => ['clone', 0x2000]],
  ["makes its parent's child", () => ['clone', 0x8000]],
  ['makes a user namespace by clone3', () => ['clone3', NEW_USER_NAMESPACE]],
  ['makes a user namespace by unshare', () => ['unshare', NEW_USER_NAMESPACE]],
  ['starts a session', () => ['setsid']],
  ['starts a process group', () => ['setpgid']],
  ['opens an io_uring', () => ['io-uring'], 'root'],
  ['makes a file of memory', () => ['memfd']],
  ['makes a System V segment', () => ['shared-memory-segment']],
  ['looks at a segment by its number', (at) => ['segment-by-number', at.segment]],
  ['removes a segment by its number', (at) => ['remove-segment', at.spareSegment]],
  ['looks at semaphores by their number', (at) => ['semaphore-by-number', at.semaphores]],
  ['looks at a message queue by its number', (at) => ['queue-by-number', at.queue]],
  ['sends to a message queue by its number', (at) => ['send-to-queue-by-number', at.queue]],
  ['takes an asynchronous context', () => ['aio-context']],
  ['opens a file that has no name', () => ['nameless-file']],
  ['reserves room for a file', () => ['reserve']],
  ['opens by a call whose flags lie in memory', () => ['openat2']],
  ['installs a separate filter', () => ['filter']],
  ['adopts orphans', () => ['prctl', 36, 1]],
  ['changes the keeping of capabilities', () => ['prctl', 8, 1]],
  ['cannot be looked at', () => ['undumpable']],
  ['controls more than terminals and pipes', () => ['ioctl', 0x5452]],
  ['makes large pipes', () => ['fcntl', 1031, 1 << 20]],
  ['shares memory without a file', () => ['mmap', 0x21]],
  ['takes huge pages', () => ['mmap', 0x40022], 'none'],
  ['puts its pages into a pipe', () => ['pages-in-pipe']],
  ['makes an unknown system call', () => ['unheard-of', 511], 'none'],
  ['adds a key', () => ['key']],
  ['makes a BPF map', () => ['bpf'], 'root'],
  ['opens a file system', () => ['mount'], 'root'],
  ['changes its root', () => ['chroot'], 'root'],
  ['changes its personality', () => ['personality']],
  ['becomes root', () => ['become-root'], 'root'],
];

/** What Landlock of some ABI does not see: judged by the file, since some of it is answered as if it had been done. */
const CHANGES: readonly (readonly [sentence: string, args: (file: string) => readonly string[]])[] = [
  ['truncates', (file) => ['truncate', file]],
  ['truncates by opening for reading', (file) => ['truncate-by-reading', file]],
  ['truncates by opening for nothing', (file) => ['truncate-by-neither', file]],
  ['removes', (file) => ['remove', file]],
  ['hides, by its mode,', (file) => ['chmod', file, '0']],
];
const stateOf = (file: string) =>
  existsSync(file) ? { mode: statSync(file).mode & 0o777, text: statSync(file).mode & 0o400 ? readFileSync(file, 'utf8') : '' } : 'gone';

const MODES: readonly (readonly [name: string, mode: 'root' | 'plain', options: LauncherOptions])[] = [
  ...(WE_ARE_ROOT ? ([['for a server that is root', 'root', {}]] as const) : []),
  ...(WE_ARE_ROOT && cgroups !== undefined ? ([['for root, in a cgroup', 'root', { cgroups }]] as const) : []),
  ['for a server that is a plain user', 'plain', {}],
  ...(WE_ARE_ROOT ? ([['for root, on a kernel with Landlock 5', 'root', { landlockAbi: 5 }]] as const) : []),
  ['for a plain user, on a kernel with Landlock 1', 'plain', { landlockAbi: 1 }],
];

describe.each(MODES)('a confined program, %s,', (_, name, options) => {
  let mode: Mode;
  let at: At;
  let bystander: Awaited<ReturnType<typeof startBystander>>;
  let ipc: Awaited<ReturnType<typeof startIpc>>;
  let spare: Awaited<ReturnType<typeof startIpc>>;

  const policy = (change: Partial<Policy> = {}): Policy => ({
    folder: at.slot,
    reads: [probe],
    uid: mode.slotUser,
    unixSockets: false,
    limits: limits(),
    ...change,
  });
  const confined = (args: readonly (string | number)[], change?: Partial<Policy>, command: Partial<Command> = {}) =>
    mode.run(policy(change), { program: probe, args: args.map(String), ...command }, options);

  beforeAll(async () => {
    mode = openMode(name);
    const scene = new Scene(mode.user);
    bystander = await startBystander(scene);
    ipc = await startIpc(scene);
    spare = await startIpc(scene);
    at = Object.assign(scene, ipc, { bystander: bystander.pid ?? 0, spareSegment: spare.segment });
  });
  afterAll(() => {
    mode.close();
    ipc.end();
    spare.end();
    for (const pid of processesWith(at.abstractSocket)) process.kill(pid, 'SIGKILL');
    rmSync(at.base, { recursive: true, force: true });
  });

  it.for(ATTEMPTS)('never %s', async ([_sentence, args, control = 'user']) => {
    const words = args(at).map(String);
    if (control === 'user') expect(await exitOf(words, mode.user, at.slot), 'unconfined').toBe(0);
    if (control === 'root' && WE_ARE_ROOT) expect(await exitOf(words, 0, at.slot), 'unconfined').toBe(0);
    const { ended, code, stdout } = await confined(args(at));
    expect({ ended, code, error: stdout.toString().trim() }).toEqual({
      ended: 'exit',
      code: 1,
      error: expect.stringMatching(/^(EPERM|EACCES|ENOSYS|EXDEV|EOPNOTSUPP|ENOTTY)$/),
    });
  });

  it.each(CHANGES)('never %s a file outside', async (_sentence, args) => {
    const file = at.file('server/spare');
    const before = stateOf(file);
    await confined(args(file));
    expect(stateOf(file)).toEqual(before);
    await exitOf(args(file), mode.user, at.slot);
    expect(stateOf(file), 'unconfined').not.toEqual(before);
    rmSync(file, { force: true });
  });

  it.for<Attempt>([
    ['connects to a path outside', (scene) => ['connect', scene.streamSocket]],
    ['connects to an abstract name', (scene) => ['connect', scene.abstractSocket]],
    ['leaves its folder by dots to connect', (scene) => ['connect', `${scene.slot}/../sockets/stream`]],
    ['sends datagrams', (scene) => ['send-from-pair', scene.datagramSocket]],
    ['opens an IP socket', () => ['socket', '2', '1']],
    ['listens outside', (scene) => ['bind', join(scene.base, `sockets/${randomUUID()}`)]],
  ])('that may use unix sockets never %s', async ([_sentence, args]) => {
    expect(await exitOf(args(at).map(String), mode.user, at.slot), 'unconfined').toBe(0);
    expect(await confined(args(at), { unixSockets: true })).toMatchObject({ ended: 'exit', code: 1 });
  });

  it('that may use unix sockets talks over one in its folder', async () => {
    const office: Partial<Policy> = { unixSockets: true, calls: 'office' };
    expect(await confined(['talk-within', join(at.slot, 'own.sock')], office)).toMatchObject({ ended: 'exit', code: 0 });
  });

  it.each([
    ['reads the toolchain', ['read', '/usr/bin/env']],
    ['writes to /dev/null', ['write', '/dev/null']],
    ['creates files in its folder', ['create', 'fresh']],
    ['clones without namespaces', ['clone', 0]],
  ])('%s', async (_sentence, args) => {
    expect(await confined(args)).toMatchObject({ ended: 'exit', code: 0 });
  });

  it.each([
    ['one whose converters pair them', { calls: 'web' } as const, 0],
    ['no other', {}, 1],
  ])('of a toolchain pairs stream sockets: %s', async (_sentence, change, code) => {
    expect(await confined(['pair', 1], change)).toMatchObject({ ended: 'exit', code });
  });

  it('gets no shared memory that is dropped from every count', async () => {
    expect(await confined(['shared-memory-dropped', 1504 * MB])).toMatchObject({ ended: 'exit', code: 1, peakBytes: expect.any(Number) });
  });

  it.each([
    ['by its mode', 'hide-folder', ['0300']],
    ['by its mask', 'hide-folder-by-umask', []],
  ])('makes no folder that cannot be looked into, %s', async (_sentence, action, bits) => {
    const control = join(at.folder('control'), randomUUID());
    expect(await exitOf([action, control, ...bits], mode.user, at.base), 'unconfined').toBe(0);
    chmodSync(control, 0o700);
    expect(await confined([action, join(at.slot, 'hidden'), ...bits])).toMatchObject({ ended: 'exit', code: 1 });
    at.emptySlot();
  });

  it('does not run what it wrote', async () => {
    const copy = join(at.slot, 'copy');
    writeFileSync(copy, readFileSync(probe), { mode: 0o755 });
    expect(await exitOf(['execute', copy], mode.user, at.slot), 'unconfined').toBe(2);
    expect((await confined(['execute', copy])).stdout.toString().trim()).toBe('EACCES');
    at.emptySlot();
  });

  it('has the kernel send no signal outside on its behalf', async () => {
    const other = unconfined(['sleep'], mode.user, at.base);
    const killed = once(other, 'exit');
    const words = ['signal-by-descriptor', String(other.pid)];
    await confined(words);
    expect(await exitOf(['kill', String(other.pid)], mode.user, at.slot)).toBe(0);
    expect(other.signalCode).toBeNull();
    await exitOf(words, mode.user, at.slot);
    expect(await killed, 'unconfined').toEqual([null, 'SIGKILL']);
  });

  it.runIf(process.arch === 'x64').each(['x32', 'i386'])('is killed when it makes a system call of %s', async (abi) => {
    expect(await exitOf([abi], mode.user, at.slot), 'unconfined').not.toBeNull();
    expect(await confined([abi])).toMatchObject({ ended: 'signal', signal: 'SIGSYS', code: null });
  });

  it('is dumped neither into a file nor to the handler of the machine', async () => {
    // core(5): a handler gets the dump whatever the limit is, unless it is 1. What was 0 before cannot be raised.
    const most = /^Max core file size +\S+ +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] === '0' ? 0 : 1;
    expect((await confined(['core-limit'])).stdout.toString()).toBe(`${most} ${most}\n`);
  });

  it('has only the environment and the descriptors it was given', async () => {
    const lines = (await confined(['environment'], {}, { env: { GIVEN: 'yes' } })).stdout.toString().trim().split('\n');
    expect(lines.sort()).toEqual(['GIVEN=yes', `HOME=${at.slot}`, 'LANG=C.UTF-8', 'PATH=/usr/bin:/bin', `TMPDIR=${at.slot}`]);
    expect((await confined(['descriptors'])).stdout.toString()).toBe('0\n1\n2\n');
  });

  it('is hardly looked at while it does nothing', async () => {
    const word = randomUUID();
    const run = confined(['sleep', word], { limits: limits({ wallMs: 8_000 }) });
    // ms of the processor; a launcher that looks at all processes every 100 ms takes 25 to 50 of 5,000.
    const taken = () => {
      const [, launcher] = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${processesWith(word)[0]}/status`, 'utf8')) ?? [];
      return Number(readFileSync(`/proc/${launcher}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
    };
    await sleep(2_800);
    const before = taken();
    await sleep(5_000);
    const took = taken() - before;
    expect(took).toBeLessThan(15);
    expect((await run).ended).toBe('time');
  });

  describe('whose limit is', () => {
    it.each([
      ['memory, as one process', 'memory', ['memory', 1024 * MB]],
      ['memory, under a name that looks like a measurement', 'memory', ['memory-by-name', 1024 * MB]],
      ['memory, after its first thread ended', 'memory', ['memory-without-leader', 1024 * MB]],
      ['memory, as page tables', 'memory', ['page-tables', 512 * MB]],
      ['memory, as what waits in sockets', 'memory', ['socket-buffers', 1024 * MB], {}, { calls: 'web' }],
      ['the size of its folder, as files without a name', 'output', ['unlinked-files', 20, 8 * MB]],
      ['the size of its folder, as files that are only mapped', 'output', ['mapped-files', 20, 8 * MB]],
      ['memory, as many processes', 'memory', ['memory-of-many', 16, 24 * MB]],
      ['memory, after it did nothing for a while', 'memory', ['memory-after-rest', 1024 * MB]],
      ['memory, as many processes, after it did nothing for a while', 'memory', ['memory-of-many-after-rest', 16, 24 * MB]],
      ['memory, as mappings', 'memory', ['mappings', 30, 32_000], { wallMs: 60_000 }],
      ['memory, as watches of epoll', 'memory', ['watches', 30, 900, 60], { wallMs: 60_000 }],
      ['the size of its folder, renamed behind the count', 'output', ['rename-behind', 20, 8 * MB, 'watching'], RENAMING],
      ['the size of its folder, renamed without pause', 'output', ['rename-behind', 20, 8 * MB, 'blindly'], RENAMING],
      ['the size of its folder, by a process that undoes every stop', 'output', ['rename-behind', 20, 8 * MB, 'continued'], RENAMING],
      ['the size of its folder, as files that are mapped among many mappings', 'output', ['mapped-files-among-many', 20, 8 * MB, 30_000]],
      ['time on the clock', 'time', ['sleep'], { wallMs: 300 }],
      ['time of the processor', 'time', ['spin', 1], { cpuSeconds: 1 }],
      ['time of the processor, as many processes', 'time', ['spin', 4], { cpuSeconds: 1 }],
      ['the size of a file', 'output', ['fill', 'big', 64 * MB]],
      ['the size of its folder, as many files', 'output', ['many-files', 5_000], { folderBytes: 4 * MB }],
      [
        'the size of its folder, as many files in one whose name is no UTF-8',
        'output',
        ['many-files-oddly-named', 5_000],
        { folderBytes: 4 * MB },
      ],
      ['the size of its folder, as a deep one', 'output', ['dig', 3_000]],
      ['what it may print', 'output', ['flood', 1]],
      ['what it may complain', 'output', ['flood', 2]],
    ] as const)(
      '%s ends when it exceeds it',
      async (_sentence, ended, args, change: Partial<StepLimits> = {}, more: Partial<Policy> = {}) => {
        const word = randomUUID();
        const outcome = await confined([...args, word], { limits: limits(change), ...more });
        expect({ ended: outcome.ended, left: processesWith(word) }).toEqual({ ended, left: [] });
        // A process may reserve 512 MiB between two looks, the other bounds are the kernel's.
        expect(outcome.peakBytes).toBeLessThan(600 * MB);
        expect(outcome.cpuMs).toBeLessThan(Math.max(4_000, 1_000 * (change.cpuSeconds ?? 0)));
        expect(outcome.stdout.length).toBeLessThanOrEqual(MB);
        expect(outcome.stderr.length).toBeLessThanOrEqual(16 * 1024);
        if (existsSync(join(at.slot, 'big'))) expect(statSync(join(at.slot, 'big')).size).toBe(limits().fileBytes);
        at.emptySlot();
      },
    );

    it('memory holds no locks of parts of a file, of which the kernel counts none', async () => {
      const locking = () => confined(['locks', 1, 1_000], { limits: limits({ wallMs: 1_500 }) });
      const isLocked = (file: string) => readFileSync('/proc/locks', 'utf8').includes(`:${statSync(file).ino} `);
      const outcome = locking();
      await eventually(() => existsSync(join(at.slot, 'locked')));
      await sleep(300);
      expect(isLocked(join(at.slot, 'locked'))).toBe(false);
      // Told that they were locked, programs go on.
      expect(await outcome).toMatchObject({ ended: 'time' });
      at.emptySlot();
      const free = unconfined(['locks', '1', '1000'], mode.user, at.slot);
      await eventually(() => existsSync(join(at.slot, 'locked')) && isLocked(join(at.slot, 'locked')));
      free.kill('SIGKILL');
      at.emptySlot();
    });

    it('a number of processes gets no more', async () => {
      const { ended, stdout } = await confined(['forks', 500], { limits: limits({ processes: 24 }) });
      expect(ended).toBe('exit');
      expect(Number(stdout)).toBeGreaterThan(10);
      expect(Number(stdout)).toBeLessThanOrEqual(24);
    });

    it('a number of threads gets no more, or ends', async () => {
      const { ended, stdout } = await confined(['threads', 500], { limits: limits({ processes: 24, wallMs: 1_000 }) });
      if (ended !== 'processes') expect(Number(stdout)).toBeLessThanOrEqual(24);
    });

    it('a number of processes does not bring the machine down with a fork bomb', async () => {
      const word = randomUUID();
      const { ended } = await confined(['bomb', word], { limits: limits({ wallMs: 1_000 }) });
      expect(['time', 'processes']).toContain(ended);
      expect(processesWith(word)).toEqual([]);
    });
  });

  describe('that forks twice, in new groups and sessions, leaves no process behind', () => {
    it('when its first process ends', async () => {
      const word = randomUUID();
      expect(await confined(['tree', word])).toMatchObject({ ended: 'exit', code: 0 });
      expect(processesWith(word)).toEqual([]);
      await exitOf(['tree', word], mode.user, at.slot);
      const left = processesWith(word);
      for (const pid of left) process.kill(pid, 'SIGKILL');
      expect(left.length, 'unconfined').toBeGreaterThan(0);
    });

    it('when its server is killed', async () => {
      const word = randomUUID();
      const server = startServer(name === 'root' || !WE_ARE_ROOT ? undefined : PLAIN_USER);
      void server.run(policy(), { program: probe, args: ['tree-and-stay', word] }, options);
      await eventually(() => processesWith(word).length === 4);
      server.kill();
      await eventually(() => processesWith(word).length === 0);
    });

    it('not even its first process, when no other is left to end it', async () => {
      const word = randomUUID();
      const server = startServer(name === 'root' || !WE_ARE_ROOT ? undefined : PLAIN_USER);
      void server.run(policy(), { program: probe, args: ['outlive-parent', word] }, options);
      await eventually(() => processesWith(word).length === 1);
      const supervisor = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${processesWith(word)[0]}/status`, 'utf8'))?.[1]);
      server.pause();
      process.kill(supervisor, 'SIGKILL');
      try {
        await eventually(() => processesWith(word).length === 0);
      } finally {
        for (const pid of processesWith(word)) process.kill(pid, 'SIGKILL');
        server.kill();
      }
    });

    it('when its time is over', async () => {
      const word = randomUUID();
      expect(await confined(['tree-and-stay', word], { limits: limits({ wallMs: 500 }) })).toMatchObject({ ended: 'time' });
      expect(processesWith(word)).toEqual([]);
    });
  });
});

describe('the launcher', () => {
  let scene: Scene;
  const user = WE_ARE_ROOT ? SLOT_USER : (process.getuid?.() ?? 0);
  const slotUser = WE_ARE_ROOT ? SLOT_USER : undefined;
  const policy = (change: Partial<Policy> = {}): Policy => ({
    folder: scene.slot,
    reads: [probe],
    uid: slotUser,
    unixSockets: false,
    limits: limits(),
    ...change,
  });
  const { run, start, check } = launcherAt(LAUNCHER);
  beforeAll(() => {
    scene = new Scene(user);
  });
  afterAll(() => rmSync(scene.base, { recursive: true, force: true }));

  it('tells what the kernel lacks, in sentences', async () => {
    expect(await check()).toMatchObject({ seccomp: true, landlockAbi: expect.any(Number) });
    expect((await launcherAt(LAUNCHER, { landlockAbi: 3 }).check()).lacks).toHaveLength(3);
  });

  it('is C of at most 100 columns', () => {
    const sources = readdirSync(join(ROOT, 'native')).filter((name) => /\.[ch]$/.test(name));
    const lines = sources.flatMap((name) =>
      readFileSync(join(ROOT, 'native', name), 'utf8')
        .replaceAll('\t', '    ')
        .split('\n'),
    );
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  it.each([
    ['a kernel without Landlock', { landlockAbi: 0 }, {}, /no Landlock.*--without-landlock/],
    ['a program that is missing', {}, { program: '/usr/bin/no-such-program' }, /cannot run \/usr\/bin\/no-such-program: No such file/],
    ['a program outside the toolchain', {}, { program: '/etc/hosts' }, /cannot run \/etc\/hosts: Permission denied/],
    ['a relative program', {}, { program: 'ls' }, /usage:/],
  ])('refuses %s with a sentence', async (_sentence, options: LauncherOptions, command: Partial<Command>, says) => {
    const outcome = await launcherAt(LAUNCHER, options).run(policy(), { program: probe, args: ['exit', '0'], ...command });
    expect(outcome).toMatchObject({ ended: 'launcher', code: null, stderr: expect.stringMatching(says) });
    expect(outcome.stderr).toMatch(/^launcher: /);
  });

  it('starts without Landlock when told so, and still refuses system calls', async () => {
    const bare = launcherAt(LAUNCHER, { landlockAbi: 0, withoutLandlock: true });
    expect(await bare.run(policy(), { program: probe, args: ['read', scene.key] })).toMatchObject({ ended: 'exit', code: 0 });
    expect(await bare.run(policy(), { program: probe, args: ['socket', '2', '1'] })).toMatchObject({ ended: 'exit', code: 1 });
  });

  // setresuid(2) takes 32 bits, and all of them set for "leave as it is".
  it.runIf(WE_ARE_ROOT).each([undefined, 0, 2 ** 32 - 1, 2 ** 32])('as root refuses to keep a program root (%s)', async (uid) => {
    expect(await run(policy({ uid }), { program: probe, args: ['exit', '0'] })).toMatchObject({
      ended: 'launcher',
      stderr: expect.stringMatching(/--uid/),
    });
  });

  it('counts files without a name together with those in the folder', async () => {
    const named = join(scene.slot, 'named');
    writeFileSync(named, Buffer.alloc(24 * MB));
    const outcome = await run(policy(), { program: probe, args: ['unlinked-files', '6', String(8 * MB)] });
    rmSync(named);
    expect(outcome).toMatchObject({ ended: 'output', code: null });
  });

  it('that is missing is told of', async () => {
    const missing = launcherAt(join(workshop, 'nothing'));
    expect(await missing.run(policy(), { program: probe, args: [] })).toMatchObject({
      ended: 'launcher',
      stderr: expect.stringMatching(/ENOENT/),
    });
    await expect(missing.check()).rejects.toThrow(/build-launcher/);
  });

  it.each([3, 125, 137])("passes on the program's own %s", async (code) => {
    expect(await run(policy(), { program: probe, args: ['exit', String(code)] })).toMatchObject({ ended: 'exit', code, signal: null });
  });

  it.each([undefined, 4])('puts a program behind others at the processor, by %s', async (nice) => {
    const { code, stdout } = await run(policy({ nice }), { program: '/usr/bin/nice', args: [] });
    expect([code, Number(stdout.toString())]).toEqual([0, Math.min(19, getPriority() + (nice ?? 0))]);
  });

  it('passes stdin on, and stdout back, whole and in lines', async () => {
    const seen: string[] = [];
    const outcome = await run(policy(), {
      program: probe,
      args: ['echo'],
      stdin: 'one\ntwo\rthrée\n',
      onLine: (line, stream) => seen.push(`${stream} ${line}`),
    });
    expect(outcome.stdout.toString()).toBe('one\ntwo\rthrée\n');
    expect(seen).toEqual(['stdout one', 'stdout two', 'stdout thrée']);
  });

  it.each([0, 100])('ends a program that is cancelled after %s ms', async (ms) => {
    const word = randomUUID();
    const outcome = await run(policy(), {
      program: probe,
      args: ['tree-and-stay', word],
      signal: ms ? AbortSignal.timeout(ms) : AbortSignal.abort(),
    });
    expect(outcome).toMatchObject({ ended: 'cancelled', code: null });
    expect(processesWith(word)).toEqual([]);
  });

  it('keeps a long-lived program until it is told to end', async () => {
    const resident = start(policy({ limits: limits({ wallMs: 0 }) }), { program: probe, args: ['echo'] });
    for (const word of ['one', 'two']) {
      resident.stdin.write(word);
      expect(String((await once(resident.stdout, 'data'))[0])).toBe(word);
    }
    resident.kill();
    expect(await resident.ended).toMatchObject({ ended: 'cancelled' });
  });

  it('signals no process group whose number may be taken by another', async () => {
    const signals = vi.spyOn(process, 'kill');
    await run(policy(), { program: '/usr/bin/no-such-program', args: [] });
    await run(policy(), { program: probe, args: ['exit', '0'] });
    expect(signals).not.toHaveBeenCalled();
    signals.mockRestore();
  });

  it('that is itself killed takes its tree along', async () => {
    const word = randomUUID();
    const resident = start(policy(), { program: probe, args: ['tree-and-stay', word] });
    await once(resident.stdout, 'data');
    process.kill(resident.pid ?? 0, 'SIGKILL');
    expect(await resident.ended).toMatchObject({ ended: 'launcher' });
    await eventually(() => processesWith(word).length === 0);
  });
});

describe('confined', () => {
  let scene: Scene;
  beforeAll(() => {
    scene = new Scene(WE_ARE_ROOT ? SLOT_USER : (process.getuid?.() ?? 0));
  });
  afterAll(() => rmSync(scene.base, { recursive: true, force: true }));

  const SHARP = `require(${JSON.stringify(join(ROOT, 'node_modules/sharp'))})({create:{width:8,height:8,channels:3,background:'red'}}).png().toFile('sharp.png')`;
  const TYPED = '/Helvetica findfont 24 scalefont setfont 72 72 moveto (Hello) show showpage';
  type Conversion = readonly [program: string, args: readonly string[], output: string, magic: RegExp];
  /** Some read what an earlier one wrote, which is made first where it is missing. */
  const conversions: readonly Conversion[] = [
    ['/usr/bin/ffmpeg', ['-f', 'lavfi', '-i', 'testsrc=duration=0.2', 'test.mp4'], 'test.mp4', /^....ftyp/s],
    ['/usr/bin/convert-im6.q16', ['xc:red', '-resize', '64x64', 'red.png'], 'red.png', /PNG/],
    ['/usr/bin/gs', ['-q', '-sDEVICE=pdfwrite', '-o', 'typed.pdf', '-c', TYPED], 'typed.pdf', /^%PDF/],
    ['/usr/bin/qpdf', ['typed.pdf', '--linearize', 'linear.pdf'], 'linear.pdf', /Linearized/],
    ['/usr/bin/pdftoppm', ['-r', '100', '-png', 'typed.pdf', 'page'], 'page-1.png', /PNG/],
    ['/usr/bin/tesseract', ['page-1.png', 'read'], 'read.txt', /Hello/],
    ['/usr/bin/cjxl', ['red.png', 'red.jxl'], 'red.jxl', /^\xff\x0a|JXL/],
    ['/usr/bin/heif-enc', ['red.png', '-o', 'red.heic'], 'red.heic', /ftypheic/],
    ['/usr/bin/heif-convert', ['red.heic', 'back.png'], 'back.png', /PNG/],
    ['/usr/bin/pandoc', ['--from=markdown', '--output=text.html', 'text.md'], 'text.html', /<strong>bold<\/strong>/],
    ['/usr/bin/python3', ['-c', 'import uno; open("uno.txt", "w").write(str(uno.getComponentContext()))'], 'uno.txt', /./],
    ['/usr/lib/libreoffice/program/soffice.bin', ['--headless', '--norestore', '--convert-to', 'pdf', 'text.html'], 'text.pdf', /^%PDF/],
    [process.execPath, ['-e', SHARP], 'sharp.png', /PNG/],
  ];

  it.each(conversions)('%s converts', async (program, args, output, magic) => {
    writeFileSync(join(scene.slot, 'text.md'), 'some **bold** text');
    await convertConfined(program, args);
    expect(readFileSync(join(scene.slot, output), 'latin1')).toMatch(magic);
  });

  async function convertConfined(program: string, args: readonly string[]): Promise<void> {
    for (const [earlier, itsArgs, output] of conversions)
      if (args.includes(output) && earlier !== program && !existsSync(join(scene.slot, output))) await convertConfined(earlier, itsArgs);
    const policy: Policy = {
      folder: scene.slot,
      reads: [join(ROOT, 'node_modules')],
      calls: 'office',
      uid: WE_ARE_ROOT ? SLOT_USER : undefined,
      unixSockets: true,
      limits: limits({ memoryBytes: 1024 * MB, cpuSeconds: 60, processes: 96, wallMs: 60_000 }),
    };
    // LibreOffice asks the user database for a home, and no slot's user is in there.
    const all = program.endsWith('soffice.bin') ? [`-env:UserInstallation=file://${scene.slot}/profile`, ...args] : args;
    const run = () => launcherAt(LAUNCHER).run(policy, { program, args: all, env: { OSL_SOCKET_PATH: scene.slot } });
    let outcome = await run();
    // LibreOffice with a fresh profile ends so, meaning: start me again.
    if (outcome.code === 81) outcome = await run();
    expect(outcome, outcome.stderr).toMatchObject({ ended: 'exit', code: 0 });
  }
});
