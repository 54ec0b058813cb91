/** A replica that is told to stop finishes the downloads that it has begun, for as long as it is set to. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SUBMISSION_VERSION } from '../../../src/contracts/messages/submission.ts';
import { askSubmission } from '../../kit/api/submissions.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';
import { poolOf } from '../../kit/roles/crew.ts';
import { convert } from '../../kit/roles/service.ts';

/** Its bitmap is larger than what all buffers on the way hold. */
const SIDE_PIXELS = 4_000;
/** Longer than a replica waits where nothing is set, ms. */
const STOPPED_MS = 2_000;

let cluster: Cluster;
let picture: Buffer;
beforeAll(async () => {
  const create = { width: SIDE_PIXELS, height: SIDE_PIXELS, channels: 3, background: 'teal' } as const;
  [cluster, picture] = await Promise.all([startCluster(), sharp({ create }).png().toBuffer()]);
  await Promise.all([cluster.start('api'), cluster.start('worker', { POOL: 'image' })]);
}, 60_000);
afterAll(() => cluster?.stop());

it.each([
  ['is finished within the limit', 20_000, true],
  ['is cut off at the limit', 500, false],
])('a slow download %s', { timeout: 60_000 }, async (_, drainMs, isWhole) => {
  const replica = await cluster.start('api', {}, { api: { drainMs } });
  await eventually(async () => (await poolOf(replica.url, 'image')).workers > 0, 'the replica knows of the worker');
  const { data } = await convert(replica.url ?? '', { name: 'a.png', bytes: picture }, 'bmp', {}, { prefer: 'wait' });
  const size = data?.output?.size_bytes ?? 0;
  expect(size).toBeGreaterThan(SIDE_PIXELS ** 2);
  const [download] = (await once(get(`${replica.url}/api/v1/jobs/${data?.job_id}/output`), 'response')) as [IncomingMessage];
  let received = 0;
  download.on('data', (block: Buffer) => {
    received += block.length;
  });
  await once(download, 'data');
  download.pause();
  replica.child.kill('SIGTERM');
  await pause(STOPPED_MS);
  // What was cut off ends with an error.
  await once(download.resume(), 'close').catch(() => {});
  await replica.ended;
  expect([received === size, replica.child.exitCode]).toEqual([isWhole, 0]);
});

it('a replica with a slow download leaves the questions of ConversionJobs to the others', { timeout: 60_000 }, async () => {
  const [replica] = await Promise.all([cluster.start('api', {}, { api: { drainMs: 20_000 } }), cluster.start('api')]);
  await eventually(async () => (await poolOf(replica.url, 'image')).workers > 0, 'the replica knows of the worker');
  const { data } = await convert(replica.url ?? '', { name: 'a.png', bytes: picture }, 'bmp', {}, { prefer: 'wait' });
  const [download] = (await once(get(`${replica.url}/api/v1/jobs/${data?.job_id}/output`), 'response')) as [IncomingMessage];
  await once(download, 'data');
  download.pause();
  replica.child.kill('SIGTERM');
  await pause(STOPPED_MS);
  const nats = await cluster.nats.connect();
  const source = { key: 'none.png' };
  const about = (n: number) => ({ version: SUBMISSION_VERSION, uid: `0c6f4e5b-${n}`, namespace: 'team', source, toFormat: 'webp' });
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => askSubmission(nats, 'convert', about(n))));
  const codes = answers.map((answer) => ('error' in answer ? answer.error.code : answer));
  expect([...new Set(codes)]).toEqual(['NOT_FOUND']);
  expect(replica.child.exitCode).toBeNull();
  download.destroy();
  await replica.ended;
});
