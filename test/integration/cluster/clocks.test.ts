/** Machines whose clocks are wrong by minutes, each in its own direction: whatever was promised about times holds by the clock that they share. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rounds } from '../../kit/exec/rounds.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { type Crew, startCrew } from '../../kit/roles/crew.ts';
import { patientClient, underLoad } from '../../kit/roles/load.ts';
import { openStores } from '../../kit/roles/stores.ts';

const JOBS = rounds(60, 24);
const MINUTES = 60_000;
const KEPT_MS = 120 * MINUTES;
/** Between two clocks that agree, and for the way to and fro. */
const NEAR_MS = 3_000;

const wrongBy = (minutes: number) => ({
  NODE_OPTIONS: `--import ${join(import.meta.dirname, '../../kit/roles/wrong-clock.ts')}`,
  CLOCK_SHIFT_MS: String(minutes * MINUTES),
});

let cluster: Cluster;
let crew: Crew;
beforeAll(async () => {
  cluster = await startCluster();
  crew = await startCrew(cluster, {
    replicas: [wrongBy(5), wrongBy(-5)],
    workers: [
      { POOL: 'image', ...wrongBy(-5) },
      { POOL: 'image', ...wrongBy(5) },
      { POOL: 'pdf', ...wrongBy(-5) },
      { POOL: 'media', ...wrongBy(5) },
    ],
  });
});
afterAll(() => cluster?.stop());

it(`${JOBS} jobs survive deaths, and are kept as long as was said`, { timeout: 180_000 }, async () => {
  const client = patientClient(() => crew.replicas.map(({ url }) => url), 90_000);
  const began = Date.now();
  const disturb = async () => {
    await pause(1_000);
    await crew.replaceWorker(0);
    await cluster.nats.kill();
    await cluster.nats.restart();
    await crew.replaceReplica(0);
  };
  const ended = await underLoad(client, { jobs: JOBS, clients: 4, disturb });
  const now = Date.now();
  expect(ended.filter(({ end }) => end !== 'done')).toEqual([]);

  for (const { id } of ended) {
    const { told } = await client.ask(`/api/v1/jobs/${id}`);
    const { created_at, expires_at } = told.data as { readonly created_at?: string; readonly expires_at?: string };
    const [created, expires] = [Date.parse(created_at ?? ''), Date.parse(expires_at ?? '')];
    expect(created).toBeGreaterThan(began - NEAR_MS);
    expect(created).toBeLessThan(now + NEAR_MS);
    expect(expires).toBeGreaterThan(created + KEPT_MS - NEAR_MS);
    expect(expires).toBeLessThan(now + KEPT_MS + NEAR_MS);
  }
  // Sent again, to whichever replica, the first is still known.
  expect(await client.send(1)).toBe(await client.send(1));

  const stores = await openStores(cluster);
  await stores.expectOneWinnerEach(ended);
  await stores.expectNothingLeft();
});
