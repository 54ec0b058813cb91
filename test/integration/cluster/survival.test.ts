/**
 * Everything that can die dies, one after the other, under load: nothing accepted is lost, nothing is done twice, nothing is left lying about.
 *
 * Slow: a worker has lost its order after 30 s of silence, and NATS is out of reach for 20 s.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rounds, some } from '../../kit/exec/rounds.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { type Crew, startCrew } from '../../kit/roles/crew.ts';
import { patientClient, underLoad } from '../../kit/roles/load.ts';
import { openStores } from '../../kit/roles/stores.ts';

const JOBS = rounds(500, 60);
const CLIENTS = rounds(6, 2);
/** Between two jobs of a client: without it, two cores convert without a pause for as long as what dies takes to come back. */
const PAUSE_MS = rounds(0, 1_400);
/** Longer than the time after which a silent worker has lost its order. */
const FROZEN_MS = 35_000;
const PARTED_MS = 20_000;
const LONGEST_MS = 420_000;

let cluster: Cluster;
let crew: Crew;

beforeAll(async () => {
  cluster = await startCluster();
  crew = await startCrew(cluster, { replicas: [{}, {}], workers: ['image', 'image', 'pdf', 'media'].map((POOL) => ({ POOL })) });
});
afterAll(() => cluster?.stop());

const deaths: Readonly<Record<string, () => Promise<void>>> = {
  'a worker was killed': () => crew.replaceWorker(0),
  'a replica was killed': () => crew.replaceReplica(0),
  'a worker froze and thawed': async () => {
    crew.workers[1]?.child.kill('SIGSTOP');
    await pause(FROZEN_MS);
    crew.workers[1]?.child.kill('SIGCONT');
  },
  'NATS was killed': async () => {
    await cluster.nats.kill();
    await pause(1_000);
    await cluster.nats.restart();
  },
  'S3 was killed': async () => {
    await cluster.minio.kill();
    await pause(1_000);
    await cluster.minio.restart();
  },
  'NATS was out of reach': async () => {
    cluster.nats.signal('SIGSTOP');
    await pause(PARTED_MS);
    cluster.nats.signal('SIGCONT');
  },
};

it(`${JOBS} jobs survive the death of everything`, { timeout: LONGEST_MS + 60_000 }, async () => {
  const client = patientClient(() => crew.replicas.map(({ url }) => url), LONGEST_MS);
  const disturb = async (isOver: () => boolean) => {
    for (const [what, death] of some(Object.entries(deaths), 2)) {
      await pause(2_000);
      expect(isOver(), `the load lasts until ${what}`).toBe(false);
      await death();
    }
  };
  const ended = await underLoad(client, { jobs: JOBS, clients: CLIENTS, pauseMs: PAUSE_MS, disturb });

  // Three lost workers in a row are one reason to give a file up; there is no other here.
  const failures = ended.filter(({ end }) => end !== 'done');
  expect(failures.filter(({ end }) => end !== 'engine_crashed')).toEqual([]);
  expect(failures.length).toBeLessThan(ended.length / 20);

  const stores = await openStores(cluster);
  await stores.expectOneWinnerEach(ended);
  // What the worker that was killed and the one that froze had in their hands: outages cost no job an attempt.
  expect(await stores.takenOver()).toBeLessThanOrEqual(2 * availableParallelism());
  await stores.expectNothingLeft();
});
