/**
 * A worker one of whose engines stops working, beside one that is well: no job fails, and what no worker can do is not offered.
 *
 * Slow: a withdrawn engine is tried again after half a minute.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { pdf } from '../../kit/fixtures/documents/pdf.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { type Crew, kill, poolOf, startCrew } from '../../kit/roles/crew.ts';
import { type Answer, checkout, convert, endProcess, type Starting, settled, spawnService } from '../../kit/roles/service.ts';

const JOBS = 12;
const CLIENTS = 4;
/** Needed for HTML, and for no picture. */
const PROGRAM = '/usr/bin/pdftohtml';

let cluster: Cluster;
let crew: Crew;
let folder: string;
let broken: Starting;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-broken-engine-'));
  execFileSync('chmod', ['755', folder]);
  cluster = await startCluster();
  crew = await startCrew(cluster, { replicas: [{}], workers: [{ POOL: 'pdf' }] });
  const environment = { NATS_URL: cluster.nats.addresses.join(','), POOL: 'pdf', WORK_DIR: folder };
  // In a separate mount namespace, so that its program is replaced for no other.
  const command = ['unshare', '--mount', '--propagation', 'private', join(checkout, 'scripts/filemill'), 'worker'];
  broken = await spawnService(folder, { worker: { trials: true, slots: { pdf: 1 } } }, environment, command);
  await workersAre(2);
}, 90_000);
afterAll(async () => {
  if (broken !== undefined) await endProcess({ ...broken, url: '' });
  await cluster?.stop();
  await rm(folder, { recursive: true, force: true });
});

const url = (): string => crew.replicas[0]?.url ?? '';
const workersAre = (count: number) => eventually(async () => (await poolOf(url(), 'pdf')).workers === count, `${count} workers`, 40_000);
const inItsNamespace = (...command: string[]) => execFileSync('nsenter', ['--target', String(broken.child.pid), '--mount', ...command]);
async function json<T>(path: string): Promise<T> {
  return ((await (await fetch(url() + path)).json()) as { data: T }).data;
}
const targets = async (): Promise<readonly string[]> =>
  (await json<{ sources: { targets: { format: string }[] }[] }>('/api/v1/formats?from=pdf')).sources.flatMap((source) =>
    source.targets.map(({ format }) => format),
  );
const toTheEnd = async (to: string): Promise<Answer> =>
  settled(url(), await convert(url(), { name: 'a.pdf', bytes: pdf([['words']]) }, to));

it(`fails none of ${JOBS} jobs: its orders go to the other`, { timeout: 120_000 }, async () => {
  inItsNamespace('mount', '--bind', '/bin/false', PROGRAM);
  let sent = 0;
  const ends: unknown[] = [];
  const client = async () => {
    while (sent++ < JOBS) {
      const { data, error } = await toTheEnd('html');
      ends.push(data?.status ?? error?.details['reason']);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  expect(ends.filter((end) => end !== 'done')).toEqual([]);
  expect(await targets()).toContain('html');
  // It takes orders for what it can do.
  await workersAre(2);
});

it('is not offered once no worker has it, unlike what its worker can still do', { timeout: 120_000 }, async () => {
  await kill(crew.workers[0]);
  await workersAre(1);
  // If it got none of the jobs above, this is the first that it fails on.
  if ((await targets()).includes('html'))
    await convert(url(), { name: 'a.pdf', bytes: pdf([['words']]) }, 'html', {}, { prefer: 'respond-async' });
  await eventually(async () => !(await targets()).includes('html'), 'HTML is not offered', 40_000);
  expect((await toTheEnd('png')).data?.status).toBe('done');
  const { missing } = await json<{ missing: unknown[] }>('/api/v1/health');
  const reason = 'it cannot convert a file that is known to be good';
  expect(missing).toContainEqual(expect.objectContaining({ engine: 'Poppler', reason }));
});

it('is offered again once it works', { timeout: 120_000 }, async () => {
  inItsNamespace('umount', PROGRAM);
  await eventually(async () => (await targets()).includes('html'), 'HTML is offered', 60_000);
  expect((await toTheEnd('html')).data?.status).toBe('done');
});
