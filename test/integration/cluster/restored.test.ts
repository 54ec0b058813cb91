/** A NATS store that is restored from an older copy: jobs since then are not known any more, and nothing else is harmed. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../kit/api/wire.ts';
import { rounds } from '../../kit/exec/rounds.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { type Crew, startCrew } from '../../kit/roles/crew.ts';
import { type Client, type Ended, patientClient } from '../../kit/roles/load.ts';
import { openStores } from '../../kit/roles/stores.ts';

const EARLIER = rounds(60, 16);
const LOST = rounds(50, 24);
const HOUR = 3_600_000;

let cluster: Cluster;
let crew: Crew;
let client: Client;
beforeAll(async () => {
  cluster = await startCluster();
  const settings = { upkeep: { intervalMs: 2_000 } };
  crew = await startCrew(cluster, { replicas: [{}, {}], workers: [{ POOL: 'image' }, { POOL: 'pdf' }, { POOL: 'media' }], settings });
  client = patientClient(() => crew.replicas.map(({ url }) => url), 60_000);
});
afterAll(() => cluster?.stop());

/** Each run takes a lease and gives it back; one that was copied as it was held has to lapse first. */
async function upkeepRuns(): Promise<void> {
  const nats = await cluster.nats.connect();
  const leases = async () => (await nats.manager.streams.info('KV_locks')).state.last_seq;
  const before = await leases();
  await eventually(async () => (await leases()) >= before + 4, 'upkeep has come by', 90_000);
}

const range = (from: number, count: number) => Array.from({ length: count }, (_, n) => from + n);
async function carryAll(indexes: readonly number[]): Promise<Ended[]> {
  const ended: Ended[] = [];
  const left = [...indexes];
  const work = async () => {
    for (let index = left.shift(); index !== undefined; index = left.shift()) ended.push(...(await client.runJob(index)));
  };
  await Promise.all([work(), work(), work(), work()]);
  expect(ended.filter(({ end }) => end !== 'done')).toEqual([]);
  return ended;
}
const outputOf = async ({ id }: Ended) => (await client.ask(`/api/v1/jobs/${id}/output`, undefined, ({ status }) => status === 200)).body;

it(`forgets the last ${LOST} jobs, and keeps all others`, { timeout: 180_000 }, async () => {
  const earlier = await carryAll(range(0, EARLIER));
  const outputs = await Promise.all(earlier.map(outputOf));
  await cluster.nats.backUp();
  const lost = await carryAll(range(EARLIER, LOST));

  await cluster.nats.kill();
  await cluster.nats.restore();
  await cluster.nats.restart();

  for (const { url } of crew.replicas)
    for (const { id } of lost) {
      const known = ({ status }: { readonly status: number }) => status !== 503;
      const { told } = await patientClient(() => [url], 30_000).ask(`/api/v1/jobs/${id}`, undefined, known);
      expect([told.status, told.error?.code], id).toEqual([404, 'JOB_NOT_FOUND']);
    }
  for (const [index, job] of earlier.entries()) expect(await outputOf(job), job.id).toEqual(outputs[index]);

  // A key from before is still known; one of a lost job makes a new one.
  expect(earlier).toContainEqual((await client.runJob(0))[0]);
  const [again] = await client.runJob(EARLIER);
  expect(again?.end).toBe('done');
  expect(lost.map(({ id }) => id)).not.toContain(again?.id);
  await carryAll(range(EARLIER + LOST, 10));

  const stores = await openStores(cluster);
  const files = async (jobs: readonly Ended[]) => {
    const keys = await stores.keys('jobs/');
    return jobs.filter(({ id }) => keys.some((key) => key.startsWith(`jobs/${id}/`))).length;
  };
  await upkeepRuns();
  expect([await files(earlier), await files(lost)]).toEqual([earlier.length, lost.length]);

  // Hours later what is known has expired, and what is not is too much to be left over by chance.
  expect(await stores.sweep(5 * HOUR)).toMatchObject({ orphaned: 0 });
  expect(stores.warnings.join()).toContain('were the records lost or restored?');
  expect([await files(earlier), await files(lost)]).toEqual([0, lost.length]);
  // Its operator may say that it was.
  await stores.sweep(5 * HOUR, { maxOrphanShare: 1 });
  expect(await files(lost)).toBe(0);
  await stores.expectNothingLeft();
});
