/** What roles do about servers that stay away, or that will have nothing to do with them any more. */
import { afterEach, expect, it } from 'vitest';
import { apiPermissions, workerPermissions } from '../../src/nats/permissions.ts';
import { type Cluster, startCluster } from '../kit/cluster.ts';
import { kill, startCrew } from '../kit/crew.ts';
import { patientClient } from '../kit/load.ts';
import { PASSWORD } from '../kit/nats.ts';

let cluster: Cluster;
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
