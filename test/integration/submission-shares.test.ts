/** Many slow sources of one namespace, over real NATS and S3 servers: what others bring does not wait for them. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SUBMISSION_VERSION, SubmissionAnswer, submissionSubjects } from '../../src/contracts/submission.ts';
import type { Nats } from '../../src/nats/connection.ts';
import { question } from '../../src/nats/requests.ts';
import { openS3, type S3Store } from '../../src/objects/s3.ts';
import { type Cluster, startCluster } from '../kit/cluster.ts';
import { eventually } from '../kit/wire.ts';

/** Of one replica, as submission.ts has them: one namespace alone holds half. */
const PLACES = 20;

let origin: Server;
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
  origin = createServer((request, response) => {
    if (request.url === '/picture.png') return void response.end(picture);
    response.write(picture.subarray(0, 20));
    held.push(response);
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const { port } = origin.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  cluster = await startCluster();
  nats = await cluster.nats.connect();
  const settings = { fetch: { http: true, ports: [port], allow: ['127.0.0.1/32'] }, limits: { enabled: false } };
  const { url } = await cluster.start('api', {}, settings);
  await cluster.start('worker', { POOL: 'image' });
  bucket = await openS3(cluster.bucket);
  const hasPictures = async () => (await (await fetch(`${url}/api/v1/formats`)).text()).includes('"png"');
  await eventually(hasPictures, 'the replica knows of the worker', 30_000);
});
afterAll(async () => {
  await cluster?.stop();
  origin?.closeAllConnections();
  origin?.close();
});

let uids = 0;
const convert = async (namespace: string, source: object): Promise<SubmissionAnswer> => {
  const about = { version: SUBMISSION_VERSION, uid: `5b0f4e5a-${++uids}`, namespace, source, toFormat: 'webp' };
  return SubmissionAnswer.parse(JSON.parse(await question(nats, submissionSubjects.convert, JSON.stringify(about))));
};
const codeOf = (answer: SubmissionAnswer): string =>
  'error' in answer ? answer.error.code : 'fetching' in answer ? 'fetching' : 'data' in answer ? 'made' : 'cancelled';

it('leave places to those of others, and the bucket waits for none of them', async () => {
  for (const namespace of ['greedy', 'quiet']) await bucket.put(`imports/${namespace}/view.png`, Readable.from([picture]), 10_000);
  const slow = Array.from({ length: 2 * PLACES }, (_, n) => convert('greedy', { url: `${base}/held-${n}.png` }));
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
