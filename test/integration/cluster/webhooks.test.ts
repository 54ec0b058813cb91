/**
 * Messages at the ends of jobs from several replicas: each is sent by one of them, and outlives the replica that accepted its job.
 *
 * Slow: the attempt of a replica that died is made again when its lease of a minute has ended.
 */
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../../kit/api/receiver.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { poolOf } from '../../kit/roles/crew.ts';
import { convert, endProcess } from '../../kit/roles/service.ts';

const JOBS = 8;
let receiver: Receiver;
let cluster: Cluster;
let replicas: Role[];
let bytes: Buffer;

beforeAll(async () => {
  receiver = await startReceiver();
  cluster = await startCluster();
  const fetching = { http: true, ports: [receiver.port], allow: ['127.0.0.2/32'] };
  const settings = { fetch: fetching, upkeep: { intervalMs: 100 }, webhooks: { perSecond: 1_000 } };
  replicas = [await cluster.start('api', {}, settings), await cluster.start('api', {}, settings)];
  await cluster.start('worker', { POOL: 'image' });
  for (const { url = '' } of replicas)
    await eventually(async () => (await poolOf(url, 'image')).workers > 0, 'the worker is known', 30_000);
  bytes = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
});
afterAll(async () => {
  await cluster?.stop();
  await receiver?.close();
});

const send = (replica: Role | undefined, path: string) =>
  convert(replica?.url ?? '', { name: 'a.png', bytes }, 'webp', { webhook_url: receiver.url + path }, { prefer: 'respond-async' });

it('each message is sent once, although every replica looks for what is due', async () => {
  for (let n = 0; n < JOBS; n++) await send(replicas[n % 2], `/once-${n}`);
  await eventually(() => receiver.messages.length >= JOBS, 'all messages');
  // Sent while each replica looks some times.
  await send(replicas[0], '/last');
  await eventually(() => receiver.at('/last').length > 0, 'one more');
  expect(receiver.messages.map(({ path }) => path).sort()).toEqual(
    [...Array.from({ length: JOBS }, (_, n) => `/once-${n}`), '/last'].sort(),
  );
});

it('a message that failed is sent again by another replica after kill -9', async () => {
  receiver.answer('/moves', 503);
  const [accepting] = replicas;
  await send(accepting, '/moves');
  await eventually(() => receiver.at('/moves').length > 0, 'the first attempt');
  if (accepting !== undefined) await endProcess({ ...accepting, url: '' }, 'SIGKILL');
  receiver.answer('/moves', 200);
  await eventually(() => receiver.at('/moves').length > 1, 'the second attempt', 150_000);
  const ids = new Set(receiver.at('/moves').map(({ headers }) => headers['webhook-id']));
  expect(ids.size).toBe(1);
}, 180_000);
