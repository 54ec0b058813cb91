/**
 * Results that several replicas store where clients want them: each is sent by one of them, and outlives the replica that accepted its job.
 *
 * Slow: the attempt of a replica that died is made again when its lease of a minute has ended.
 */
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../../kit/api/receiver.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import { poolOf } from '../../kit/roles/crew.ts';
import { convert, endProcess, readAnswer } from '../../kit/roles/service.ts';

const JOBS = 6;
let receiver: Receiver;
let cluster: Cluster;
let replicas: Role[];
let bytes: Buffer;

beforeAll(async () => {
  receiver = await startReceiver();
  cluster = await startCluster();
  const fetching = { http: true, ports: [receiver.port], allow: ['127.0.0.2/32'] };
  const settings = { fetch: fetching, upkeep: { intervalMs: 100 }, destinations: { perSecond: 1_000 } };
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

const send = (replica: Role | undefined, path: string, prefer = 'respond-async') =>
  convert(replica?.url ?? '', { name: 'a.png', bytes }, 'webp', { output_url: receiver.url + path }, { prefer });
const untilDone = (replica: Role | undefined, id = '') =>
  eventually(
    async () => {
      const { data } = await readAnswer(await fetch(`${replica?.url}/api/v1/jobs/${id}`));
      return data?.status === 'done' && data;
    },
    'the job to be done',
    150_000,
  );

it('each result is stored once, although every replica looks for what is due, and its job is done then', async () => {
  const ids: (string | undefined)[] = [];
  for (let n = 0; n < JOBS; n++) ids.push((await send(replicas[n % 2], `/once-${n}`)).data?.job_id);
  for (const id of ids) expect(await untilDone(replicas[0], id)).toMatchObject({ destination: { state: 'stored', attempts: 1 } });
  expect(receiver.messages.map(({ path }) => path).sort()).toEqual(Array.from({ length: JOBS }, (_, n) => `/once-${n}`));
  for (const { headers } of receiver.messages) expect(headers).toMatchObject({ 'content-type': 'image/webp' });
});

it('a result that is on its way is sent again by another replica after kill -9', async () => {
  receiver.answer('/moves', () => {});
  const [accepting, other] = replicas;
  const { data } = await send(accepting, '/moves');
  await eventually(() => receiver.at('/moves').length > 0, 'the first attempt');
  // Whichever replica makes it: what it was answered is never known.
  receiver.answer('/moves', 200);
  if (accepting !== undefined) await endProcess({ ...accepting, url: '' }, 'SIGKILL');
  expect(await untilDone(other, data?.job_id)).toMatchObject({ destination: { state: 'stored', attempts: 2 } });
  expect(receiver.at('/moves')).toHaveLength(2);
}, 180_000);
