/** Buckets of clients' own, over the connections that sources and outputs of ConversionJobs are given. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readFromBucket, writeToBucket } from '../../../src/api/submissions/bucket.ts';
import { addressJudge } from '../../../src/fetch/address.ts';
import { directConnector } from '../../../src/fetch/direct-connector.ts';
import { openEgress } from '../../../src/fetch/egress/egress.ts';
import { privateConnector } from '../../../src/fetch/private.ts';
import { nameServers } from '../../../src/fetch/resolve.ts';
import { type EgressSettings, egressSettings, type FetchSettings, fetchSettings } from '../../../src/fetch/settings.ts';
import { openS3 } from '../../../src/objects/s3/store.ts';

import { fetchingFor } from '../../../src/roles/process/fetch.ts';
import { type Minio, type MinioSettings, startMinio } from '../../kit/objects/minio.ts';

const MOST = 64 << 20;

let minio: Minio;
let bucket: MinioSettings;
let hostile: Server;
let sentBytes = 0;
beforeAll(async () => {
  minio = await startMinio();
  bucket = minio.settings();
  await openS3(bucket);
  // An error whose words never end.
  hostile = createServer((_, response) => {
    response.writeHead(403);
    const block = Buffer.alloc(1 << 16, 'x');
    const more = () => {
      while (!response.destroyed && response.write(block)) sentBytes += block.length;
    };
    response.on('drain', more).on('error', () => {});
    more();
  }).listen(0, '127.0.0.1');
  await once(hostile, 'listening');
}, 60_000);
afterAll(async () => {
  hostile?.closeAllConnections();
  hostile?.close();
  await minio?.stop();
});

const reaching = (...privateOrigins: string[]) =>
  fetchingFor({ fetch: fetchSettings.parse({ privateOrigins }), egress: egressSettings.parse({}) }).privately;
const { signal } = new AbortController();
const place = (key: string, endpoint = bucket.endpoint) => ({
  endpoint,
  region: bucket.region,
  bucket: bucket.bucket,
  forcePathStyle: true,
  key,
});
const keys = () => ({ accessKeyId: bucket.accessKeyId, secretAccessKey: bucket.secretAccessKey });

it('takes a result of many parts, and gives it back', async () => {
  const privately = reaching(bucket.endpoint);
  const bytes = randomBytes(12 << 20);
  await writeToBucket(privately, place('results/large.bin'), keys(), Readable.from([bytes]), MOST, signal);
  const back = await buffer(await readFromBucket(privately, place('results/large.bin'), keys(), MOST, signal));
  const hash = (content: Buffer) => createHash('sha256').update(content).digest('hex');
  expect([back.length, hash(back)]).toEqual([bytes.length, hash(bytes)]);
  expect(await minio.unfinished()).toEqual([]);
}, 60_000);

it('is read no further than a file may be long', async () => {
  const reading = readFromBucket(reaching(bucket.endpoint), place('results/large.bin'), keys(), 1 << 20, signal);
  await expect(reading).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' });
});

it('at a private address is reached only where the operator lists its origin', async () => {
  const reading = readFromBucket(reaching(), place('results/large.bin'), keys(), MOST, signal);
  await expect(reading).rejects.toMatchObject({ code: 'URL_REFUSED' });
  const writing = writeToBucket(reaching(), place('new'), keys(), Readable.from(['x']), MOST, signal);
  await expect(writing).rejects.toThrow('fetch.privateOrigins');
});

it('whose keys are wrong says so, and nothing of what was signed', async () => {
  const wrong = { ...keys(), secretAccessKey: 'another-secret-than-it-has' };
  const writing = writeToBucket(reaching(bucket.endpoint), place('new'), wrong, Readable.from(['x']), MOST, signal);
  await expect(writing).rejects.toThrow(/^the secret access key is wrong \(SignatureDoesNotMatch\)$/);
});

it('that answers without an end does not fill the memory', async () => {
  const endpoint = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  const writing = writeToBucket(reaching(endpoint), place('new', endpoint), keys(), Readable.from(['x']), MOST, signal);
  await expect(writing).rejects.toThrow();
  expect(sentBytes).toBeLessThan(32 << 20);
}, 30_000);

it('is reached through egress where the list of egress has it, and not by a URL', async () => {
  const token = 'a-token-that-egress-and-its-clients-share';
  const settings = fetchSettings.parse({ privateOrigins: [bucket.endpoint] });
  const own = egressSettings.parse({ port: 0, host: '127.0.0.1', token });
  const around = { resolve: nameServers(), judge: addressJudge(settings) };
  const egress = await openEgress({
    connector: directConnector(settings, around),
    privateConnector: privateConnector(settings, around),
    tokens: [token],
    settings: { ...own, ...settings },
    onRequest: () => {},
    metrics: async () => ({ type: 'text/plain', text: '' }),
  });
  try {
    const { fetch, privately } = fetchingFor({ fetch: settings, egress: { ...own, url: `http://127.0.0.1:${egress.port}` } });
    await writeToBucket(privately, place('results/by-egress'), keys(), Readable.from(['x']), MOST, signal);
    expect((await buffer(await readFromBucket(privately, place('results/by-egress'), keys(), MOST, signal))).toString()).toBe('x');
    await expect(fetch?.(`${bucket.endpoint}/x`, MOST, signal)).rejects.toMatchObject({ code: 'URL_REFUSED' });
    await throughConnection(settings, { ...own, url: `http://127.0.0.1:${egress.port}` });
  } finally {
    await egress.close(0);
  }
});

/** What a client has stored with a connection of the operator goes through egress, and nothing else of a client gets there. */
async function throughConnection(settings: FetchSettings, egress: EgressSettings): Promise<void> {
  const team = { ...bucket, buckets: [bucket.bucket], prefixes: [''], clients: ['0.0.0.0/0'], secretDir: undefined };
  const { places, sender, fetch } = fetchingFor({ fetch: settings, egress, connections: { team } });
  const at = { bucket: bucket.bucket, key: 'results/by-connection é.txt' };
  const put = (url: string) =>
    sender?.send(
      {
        url,
        headers: {},
        body: { method: 'PUT', type: 'text/plain', bytes: 5, content: Readable.from([Buffer.from('lines')]) },
        totalMs: 10_000,
      },
      signal,
    );
  expect(await put(await places.presign({ connection: 'team' }, 'PUT', at))).toMatchObject({ status: 200 });
  const found = await fetch?.(await places.presign({ connection: 'team' }, 'GET', at), MOST, signal);
  expect([found?.name, found && (await text(found.body))]).toEqual(['by-connection é.txt', 'lines']);
  const own = { endpoint: bucket.endpoint, region: bucket.region, pathStyle: true, ...keys() };
  await expect(put(await places.presign(own, 'PUT', { ...at, key: 'results/by-own-keys.txt' }))).rejects.toMatchObject({
    code: 'URL_REFUSED',
  });
}
