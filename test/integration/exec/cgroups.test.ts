/** Cgroups of conversions: the kernel's limits hold, nothing stays behind, and where there are none the launcher's counts hold. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepLimits } from '../../../src/catalog/engine.ts';
import { type Cgroup, openCgroups } from '../../../src/exec/confine/cgroups.ts';
import { launcherAt } from '../../../src/exec/confine/confine.ts';
import type { Policy, ProcessOutcome } from '../../../src/exec/confine/policy.ts';
import { startService } from '../../kit/roles/service.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const LAUNCHER = join(ROOT, '.cache/bin/launcher');
const MB = 1024 * 1024;
/** A number that no account has. */
const SLOT_USER = 1_929_999_997;
const uid = process.getuid?.() === 0 ? SLOT_USER : undefined;
const LIMITS: StepLimits = {
  memoryBytes: 256 * MB,
  cpuSeconds: 30,
  fileBytes: 8 * MB,
  folderBytes: 64 * MB,
  processes: 32,
  wallMs: 60_000,
};

execFileSync(join(ROOT, 'scripts/build-launcher'));
const opened = await openCgroups(LAUNCHER);
const cgroups = typeof opened === 'string' ? undefined : opened;

let base: string;
let probe: string;
let slot: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'cgroups-'));
  chmodSync(base, 0o755);
  probe = join(base, 'probe');
  execFileSync('cc', ['-static', '-O2', '-pthread', '-o', probe, join(ROOT, 'test/integration/exec/probe.c')]);
  slot = join(base, 'slot');
  mkdirSync(slot);
  if (uid !== undefined) chownSync(slot, uid, uid);
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const policy = (change: Partial<StepLimits> = {}): Policy => ({
  folder: slot,
  reads: [probe],
  uid,
  unixSockets: false,
  limits: { ...LIMITS, ...change },
});
const inCgroup = (args: readonly (string | number)[], change?: Partial<StepLimits>): Promise<ProcessOutcome> =>
  launcherAt(LAUNCHER, { cgroups }).run(policy(change), { program: probe, args: args.map(String) });

/** What a cgroup has used at most, bytes. */
function peakOf({ paths }: Cgroup): number {
  const files = paths.flatMap((path) => ['memory.peak', 'memory.max_usage_in_bytes'].map((name) => join(path, name)));
  return Number(readFileSync(files.find(existsSync) ?? '', 'utf8'));
}

/** The names of this process's groups: other processes may have theirs beside them. */
const namesAt = ({ paths }: Cgroup): string[] =>
  paths.flatMap((path) => readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path).replace(/\d+$/, ''))));

async function eventually(holds: () => boolean): Promise<void> {
  const until = Date.now() + 15_000;
  while (!holds()) {
    if (Date.now() > until) throw new Error('it did not come true within 15 s');
    await sleep(20);
  }
}

/** Runs a script of Node in a cgroup, without limits to speak of. */
function startIn({ paths }: Cgroup, script: string) {
  const enter = paths.map((path) => `echo $$ > ${path}/cgroup.procs`).join('; ');
  return spawn('sh', ['-c', `${enter}; exec "$@"`, 'sh', process.execPath, '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe.runIf(cgroups !== undefined)('in a cgroup', () => {
  it.each([
    ['pages', ['memory', 1024 * MB]],
    ['page tables', ['page-tables', 512 * MB]],
    ['mappings', ['mappings', 30, 32_000]],
    ['watches', ['watches', 30, 900, 60]],
    ['one of many processes', ['memory-of-many', 16, 24 * MB]],
  ] as const)(
    'memory never exceeds its limit, as %s',
    async (_what, args) => {
      const outcome = await inCgroup(args);
      expect(outcome.ended).toBe('memory');
      // The kernel charges some pages ahead for each processor.
      expect(outcome.peakBytes).toBeLessThan(1.05 * LIMITS.memoryBytes);
    },
    120_000,
  );

  it('a program that fails because it may start no more processes is told of as such', async () => {
    expect(await inCgroup(['forks-or-fails', 100])).toMatchObject({ ended: 'processes', code: 1 });
    expect(await inCgroup(['forks-or-fails', 20])).toMatchObject({ ended: 'exit', code: 0 });
  });

  it('nothing is left of it when its program has ended, however that was', async () => {
    const other = cgroups?.make(policy()) as Cgroup;
    const before = namesAt(other);
    await inCgroup(['exit', 0]);
    await inCgroup(['tree-and-stay'], { wallMs: 500 });
    await eventually(() => namesAt(other).length === before.length);
    await other.remove();
    expect(other.paths.filter(existsSync)).toEqual([]);
  });

  it('costs less than a millisecond', async () => {
    const times: number[] = [];
    for (let n = 0; n < 50; n++) {
      const before = process.threadCpuUsage();
      const made = cgroups?.make(policy()) as Cgroup;
      await made.remove();
      const { user, system } = process.threadCpuUsage(before);
      times.push((user + system) / 1000);
    }
    expect(times.sort((a, b) => a - b)[25]).toBeLessThan(1);
  });

  it('what a killed process left is removed at the next start, with its programs', async () => {
    const place = cgroups?.make(policy()) as Cgroup;
    const script = `
      import { spawn } from 'node:child_process';
      import { appendFileSync } from 'node:fs';
      import { openCgroups } from ${JSON.stringify(join(ROOT, 'src/exec/confine/cgroups.ts'))};
      const { paths } = (await openCgroups(${JSON.stringify(LAUNCHER)})).make(${JSON.stringify(policy())});
      const { pid } = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
      for (const path of paths) appendFileSync(path + '/cgroup.procs', String(pid));
      console.log(JSON.stringify({ paths, pid }));
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(child.stdout, 'data');
    const { paths, pid } = JSON.parse(String(line)) as { paths: string[]; pid: number };
    // Its maker lives.
    await openCgroups(LAUNCHER);
    expect(paths.filter(existsSync)).toEqual(paths);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await openCgroups(LAUNCHER);
    expect(paths.filter(existsSync)).toEqual([]);
    expect(existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sleep')).toBe(false);
    await place.remove();
  });

  it.each([
    ['mappings', ['mappings', 30, 32_000]],
    ['watches', ['watches', 30, 900, 60]],
    ['pages of many processes', ['memory-of-many', 16, 24 * MB]],
  ] as const)(
    'the launcher alone, measured by one, lets memory exceed its limit by a tenth, and what is taken between two looks, as %s',
    async (_what, args) => {
      const measured = cgroups?.make({ folder: slot, limits: { ...LIMITS, memoryBytes: 8192 * MB, processes: 1_000 } }) as Cgroup;
      const script = `
      import { launcherAt } from ${JSON.stringify(join(ROOT, 'src/exec/confine/confine.ts'))};
      const command = { program: ${JSON.stringify(probe)}, args: ${JSON.stringify(args.map(String))} };
      console.log((await launcherAt(${JSON.stringify(LAUNCHER)}).run(${JSON.stringify(policy())}, command)).ended);`;
      const child = startIn(measured, script);
      const said: string[] = [];
      child.stdout.on('data', (chunk) => said.push(String(chunk)));
      await once(child, 'close');
      expect(said.join('').trim()).toBe('memory');
      // Node is in it too, and what a fast machine gives out between two looks: 30 processes take 1 GB of inotify's memory in a second.
      expect(peakOf(measured)).toBeLessThan(1.1 * LIMITS.memoryBytes + 192 * MB);
      await measured.remove();
    },
    120_000,
  );
});

it.runIf(process.getuid?.() === 0)('a user who may create none is told why', async () => {
  const script = `
    process.setgroups([]); process.setgid(${SLOT_USER}); process.setuid(${SLOT_USER});
    const { openCgroups } = await import(${JSON.stringify(join(ROOT, 'src/exec/confine/cgroups.ts'))});
    console.log(JSON.stringify(await openCgroups(${JSON.stringify(LAUNCHER)})));`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(JSON.parse(said)).toMatch(/EACCES|EPERM|EROFS|shared with other processes|has no controller/);
});

it('health says whether the cgroup or the launcher counts memory', async () => {
  const service = await startService({ worker: { slots: { image: 1, media: 0, office: 0, pdf: 0, assets: 0, web: 0 } } });
  try {
    const { data } = (await (await fetch(`${service.url}/api/v1/health`)).json()) as { data: { confinement: object } };
    const { landlockAbi } = await launcherAt(LAUNCHER).check();
    expect(data.confinement).toEqual({ landlock_abi: landlockAbi, counts: cgroups === undefined ? 'launcher' : 'cgroup' });
  } finally {
    await service.stop();
  }
}, 60_000);
