/** What roles do about servers that stay away, or that will have nothing to do with them any more. */
import sharp from 'sharp';
import { afterEach, expect, it } from 'vitest';
import { apiPermissions, workerPermissions } from '../../../src/nats/permissions.ts';
import { eventually } from '../../kit/api/wire.ts';
import { PASSWORD } from '../../kit/nats/nats.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { kill, poolOf, startCrew } from '../../kit/roles/crew.ts';
import { patientClient } from '../../kit/roles/load.ts';
import { convert, readAnswer } from '../../kit/roles/service.ts';

let cluster: Cluster;
const picture = async () => ({
  name: 'a.png',
  bytes: await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
    .png()
    .toBuffer(),
});
afterEach(() => cluster?.stop());

it('a job that cannot have its files ends once it has waited for as long as any may', { timeout: 90_000 }, async () => {
  cluster = await startCluster();
  const settings = { upkeep: { queueMs: 3_000, intervalMs: 500 } };
  const crew = await startCrew(cluster, { replicas: [{}], workers: [{ POOL: 'image' }], settings });
  const client = patientClient(() => crew.replicas.map(({ url }) => url), 60_000);
  await kill(crew.workers[0]);
  const id = await client.send(1);
  await cluster.minio.kill();
  await cluster.start('worker', { POOL: 'image' });
  expect((await client.follow(id)).end).toBe('queue_timeout');
});

it('an object store that is away is answered as OVERLOADED: the client may try again', { timeout: 60_000 }, async () => {
  cluster = await startCluster();
  const crew = await startCrew(cluster, { replicas: [{}], workers: [{ POOL: 'image' }] });
  const url = crew.replicas[0]?.url ?? '';
  const done = await convert(url, await picture(), 'jpg');
  expect(done.data?.status).toBe('done');
  await cluster.minio.kill();

  const answers = [
    await convert(url, await picture(), 'jpg'),
    await readAnswer(await fetch(`${url}/api/v1/jobs/${done.data?.job_id}/output`)),
  ];
  for (const { status, error, headers } of answers) {
    expect([status, error?.code, error?.details.retryable]).toEqual([503, 'OVERLOADED', true]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await readAnswer(await fetch(`${url}/api/v1/jobs/${done.data?.job_id}`))).data?.status).toBe('done');
  await cluster.minio.restart();
  expect((await convert(url, await picture(), 'jpg')).data?.status).toBe('done');
});

it('an object store that comes back empty has its bucket again after the first request that misses it', {
  timeout: 60_000,
}, async () => {
  cluster = await startCluster();
  const crew = await startCrew(cluster, { replicas: [{}], workers: [{ POOL: 'image' }] });
  const url = crew.replicas[0]?.url ?? '';
  const before = await convert(url, await picture(), 'jpg');
  await cluster.minio.kill();
  await cluster.minio.empty();
  await cluster.minio.restart();

  const missing = await readAnswer(await fetch(`${url}/api/v1/jobs/${before.data?.job_id}/output`));
  expect([missing.status, missing.error?.code, missing.error?.details.retryable]).toEqual([503, 'OVERLOADED', true]);
  await eventually(async () => (await convert(url, await picture(), 'jpg')).data?.status === 'done', 'the bucket is there again', 10_000);
});

it('a role that NATS does not let in any more says so and ends', { timeout: 60_000 }, async () => {
  cluster = await startCluster(1, { api: apiPermissions, image: workerPermissions('image') });
  const as = (user: string) => ({ NATS_USER: user, NATS_PASSWORD: PASSWORD });
  const crew = await startCrew(cluster, { replicas: [as('api')], workers: [{ POOL: 'image', ...as('image') }] });
  await cluster.nats.kill();
  await cluster.nats.restart('another');
  for (const { child, ended, lines } of [...crew.replicas, ...crew.workers]) {
    await ended;
    expect(child.exitCode, lines.join('\n')).toBe(1);
    expect(lines.at(-1)).toMatch(/^filemill has lost NATS for good \(\w+\) and ends: check its user and password/);
  }
});

it('a store that comes back empty: replicas end, started again they make it again, and workers go on', { timeout: 120_000 }, async () => {
  cluster = await startCluster();
  const crew = await startCrew(cluster, { replicas: [{}, {}], workers: [{ POOL: 'image' }] });
  const client = patientClient(() => crew.replicas.map(({ url }) => url), 60_000);
  const { id } = (await client.runJob(1))[0] ?? {};
  const before = [...crew.replicas];
  const [worker] = crew.workers;

  await cluster.nats.kill();
  await cluster.nats.empty();
  await cluster.nats.restart();
  for (const [index, { child, ended, lines }] of before.entries()) {
    await ended;
    expect(child.exitCode, lines.join('\n')).toBe(1);
    expect(lines.at(-1)).toBe('NATS has lost what filemill had stored (stream KV_jobs is gone): this role exits and must be restarted');
    await crew.replaceReplica(index);
  }

  const known = await client.ask(`/api/v1/jobs/${id}`, undefined, ({ status }) => status === 404);
  expect(known.told.error?.code).toBe('JOB_NOT_FOUND');
  for (const { url } of crew.replicas)
    await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'the worker is heard', 30_000);
  for (const { end } of await client.runJob(2)) expect(end).toBe('done');
  expect(worker?.child.exitCode).toBe(null);
});
