/** Many slow sources of one namespace, over real NATS and S3 servers: what others bring does not wait for them. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SUBMISSION_VERSION, type SubmissionAnswer } from '../../../src/contracts/messages/submission.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { openS3, type S3Store } from '../../../src/objects/s3/store.ts';
import { askSubmission } from '../../kit/api/submissions.ts';
import { openWeb, type Web } from '../../kit/api/web.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, startCluster } from '../../kit/roles/cluster.ts';

/** The places of one replica, as submission.ts has them: one namespace alone holds half. */
const PLACES = 20;

let web: Web;
const held: ServerResponse[] = [];
let base: string;
let cluster: Cluster;
let nats: Nats;
let bucket: S3Store;
let picture: Buffer;

beforeAll(async () => {
  picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  const hold = (response: ServerResponse) => {
    response.write(picture.subarray(0, 20));
    held.push(response);
  };
  web = await openWeb(() => ({
    '/picture.png': (_, response) => void response.end(picture),
    '/held.png': (_, response) => hold(response),
  }));
  base = `http://127.0.0.2:${web.port}`;
  cluster = await startCluster();
  nats = await cluster.nats.connect();
  const settings = { fetch: { http: true, ports: [web.port], allow: ['127.0.0.2/32'] }, limits: { enabled: false } };
  const { url } = await cluster.start('api', {}, settings);
  await cluster.start('worker', { POOL: 'image' });
  bucket = await openS3(cluster.bucket);
  const hasPictures = async () => (await (await fetch(`${url}/api/v1/formats`)).text()).includes('"png"');
  await eventually(hasPictures, 'the replica knows of the worker', 30_000);
});
afterAll(async () => {
  await cluster?.stop();
  web?.close();
});

let uids = 0;
const convert = (namespace: string, source: object): Promise<SubmissionAnswer> =>
  askSubmission(nats, 'convert', { version: SUBMISSION_VERSION, uid: `5b0f4e5a-${++uids}`, namespace, source, toFormat: 'webp' });
const codeOf = (answer: SubmissionAnswer): string =>
  'error' in answer ? answer.error.code : 'fetching' in answer ? 'fetching' : 'data' in answer ? 'made' : 'cancelled';

it('leave places to other namespaces, and sources in the bucket wait for none of them', async () => {
  for (const namespace of ['greedy', 'quiet']) await bucket.put(`imports/${namespace}/view.png`, Readable.from([picture]), 10_000);
  const slow = Array.from({ length: 2 * PLACES }, (_, n) => convert('greedy', { url: `${base}/held.png?${n}` }));
  const codes = Object.groupBy((await Promise.all(slow)).map(codeOf), (code) => code);
  expect([codes['fetching']?.length, codes['OVERLOADED']?.length]).toEqual([PLACES / 2, 1.5 * PLACES]);
  expect(held).toHaveLength(PLACES / 2);

  expect(codeOf(await convert('quiet', { url: `${base}/picture.png` }))).toBe('made');
  expect(codeOf(await convert('quiet', { key: 'view.png' }))).toBe('made');
  // Its own slow ones keep its URLs waiting, and nothing else.
  expect(codeOf(await convert('greedy', { key: 'view.png' }))).toBe('made');
  expect(codeOf(await convert('greedy', { url: `${base}/picture.png` }))).toBe('OVERLOADED');
  for (const response of held) response.end(picture.subarray(20));
  await eventually(async () => codeOf(await convert('greedy', { url: `${base}/picture.png` })) === 'made', 'its places to come back');
});
