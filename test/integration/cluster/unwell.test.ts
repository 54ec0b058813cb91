/** A worker that is broken beside one that is not: no job fails, and it says what is wrong with it until it is well again. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, statfs, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { freePort } from '../../kit/exec/ports.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { type Crew, poolOf, startCrew } from '../../kit/roles/crew.ts';
import { checkout, convert, endProcess, type Starting, spawnService } from '../../kit/roles/service.ts';

const JOBS = 30;
const CLIENTS = 6;
const MIB = 1 << 20;
const LAUNCHER = join(checkout, '.cache/bin/launcher');
const ENGINE = '/usr/bin/pdftotext';
const settings = { worker: { slots: { pdf: 2 }, minFreeBytes: 4 * MIB, minFreeInodes: 100 } };

let cluster: Cluster;
let crew: Crew;
let folder: string;
let work: string;
let broken: Starting;
let probes: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-unwell-'));
  work = join(folder, 'work');
  await mkdir(work);
  execFileSync('chmod', ['755', folder]);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m,nr_inodes=2000,mode=755', 'tmpfs', work]);
  cluster = await startCluster();
  crew = await startCrew(cluster, { replicas: [{}], workers: [{ POOL: 'pdf' }] });
  const port = await freePort();
  probes = `http://127.0.0.1:${port}`;
  const environment = { NATS_URL: cluster.nats.addresses.join(','), POOL: 'pdf', WORK_DIR: work, METRICS_PORT: String(port) };
  // In a separate mount namespace, so that what it no longer finds is there for all others.
  const command = ['unshare', '--mount', '--propagation', 'private', join(checkout, 'scripts/filemill'), 'worker'];
  broken = await spawnService(folder, settings, environment, command);
  await workersAre(2);
}, 60_000);
afterAll(async () => {
  if (broken !== undefined) await endProcess({ ...broken, url: '' });
  await cluster?.stop();
  execFileSync('umount', ['--lazy', work]);
  await rm(folder, { recursive: true, force: true });
});

const url = (): string => crew.replicas[0]?.url ?? '';
const workersAre = (count: number) => eventually(async () => (await poolOf(url(), 'pdf')).workers === count, `${count} workers`, 30_000);
const readiness = async (): Promise<string> => (await fetch(`${probes}/readyz`)).text();
const inItsNamespace = (...command: string[]) => execFileSync('nsenter', ['--target', String(broken.child.pid), '--mount', ...command]);
const pid = (): string => String(broken.child.pid);

interface Cause {
  readonly reason: string;
  readonly break: () => Promise<void>;
  /** Before the first job, not among them. */
  readonly before?: true;
  readonly mend: () => Promise<void>;
}

/** How so many jobs end that a few clients send. @param first is called before each */
async function endsOf(jobs: number, first: (index: number) => Promise<void> = async () => {}): Promise<readonly unknown[]> {
  let sent = 0;
  const ends: unknown[] = [];
  const client = async () => {
    while (sent < jobs) {
      const index = sent++;
      await first(index);
      const { data, error } = await convert(url(), { name: 'a.pdf', bytes: pdf([[`page ${index}`]]) }, 'txt');
      ends.push(error === undefined ? data?.status : error.code);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return ends;
}

const filler = (): string => join(work, 'filler');
const unmount = (path: string) => async () => void inItsNamespace('umount', path);
/** An empty file of no use in the place of another. */
const hide = (path: string) => async () => void inItsNamespace('mount', '--bind', '/dev/null', path);

const causes: Readonly<Record<string, Cause>> = {
  'a disk without room': {
    reason: 'disk_full',
    break: async () => {
      await writeFile(filler(), Buffer.alloc(64 * MIB)).catch((error: NodeJS.ErrnoException) => expect(error.code).toBe('ENOSPC'));
    },
    mend: () => rm(filler()),
  },
  'a disk that is nearly full': {
    reason: 'disk_full',
    break: async () => {
      const { bavail, bsize } = await statfs(work);
      await writeFile(filler(), Buffer.alloc(bavail * bsize - 3 * MIB));
    },
    mend: () => truncate(filler(), 0),
  },
  'a file system that has no room for another file': {
    reason: 'disk_full',
    break: async () => {
      await mkdir(join(work, 'many'));
      for (let index = 0; ; index++) {
        const error = await writeFile(join(work, 'many', String(index)), '').then(
          () => undefined,
          (thrown: NodeJS.ErrnoException) => thrown,
        );
        if (error !== undefined) return expect(error.code).toBe('ENOSPC');
      }
    },
    mend: () => rm(join(work, 'many'), { recursive: true }),
  },
  'no descriptors': {
    reason: 'descriptors',
    // Those below are all in use.
    break: async () => void execFileSync('prlimit', ['--pid', pid(), '--nofile=16:']),
    before: true,
    mend: async () => void execFileSync('prlimit', ['--pid', pid(), '--nofile=4096:']),
  },
  'no launcher': { reason: 'launcher', break: hide(LAUNCHER), mend: unmount(LAUNCHER) },
  'an engine that has gone': { reason: 'engine_missing', break: hide(ENGINE), mend: unmount(ENGINE) },
};

describe('beside a good worker, one with', () => {
  for (const [what, { reason, break: breakIt, before = false, mend }] of Object.entries(causes))
    it(`${what} fails none of ${JOBS} jobs`, { timeout: 90_000 }, async () => {
      await workersAre(2);
      const said = broken.lines.length;
      if (before) await breakIt();
      const ends = await endsOf(JOBS, async (index) => {
        if (index === CLIENTS && !before) await breakIt();
      });
      expect(ends.filter((end) => end !== 'done')).toEqual([]);
      expect(ends.length).toBe(JOBS);

      const saysSo = (line: string) => line.includes('the worker is unhealthy') && line.includes(`"${reason}"`);
      await eventually(() => broken.lines.slice(said).some(saysSo), 'it says so', 20_000);
      // Without descriptors it takes no connection.
      if (reason !== 'descriptors')
        await eventually(async () => (await readiness()) === `not ready: ${reason}\n`, 'it is not ready', 20_000);
      await workersAre(1);
      await mend();
      await eventually(async () => (await readiness()) === 'ok\n', 'it is well again', 20_000);
    });

  it(`an engine that was never there fails none of ${JOBS} jobs`, { timeout: 90_000 }, async () => {
    await workersAre(2);
    const home = await mkdtemp(join(tmpdir(), 'filemill-lean-'));
    execFileSync('chmod', ['755', home]);
    const environment = { NATS_URL: cluster.nats.addresses.join(','), POOL: 'pdf', WORK_DIR: home };
    const hiding = `mount --bind /dev/null ${ENGINE} && exec ${join(checkout, 'scripts/filemill')} worker`;
    const lean = await spawnService(home, settings, environment, ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', hiding]);
    try {
      const saysSo = (line: string) => line.includes('the worker is unhealthy') && line.includes('pdftotext');
      await eventually(() => lean.lines.some(saysSo), 'it says so', 30_000);
      expect(await endsOf(JOBS)).toEqual(Array.from({ length: JOBS }, () => 'done'));
      expect(await poolOf(url(), 'pdf')).toMatchObject({ workers: 2 });
    } finally {
      await endProcess({ ...lean, url: '' });
      await rm(home, { recursive: true, force: true });
    }
  });
});
