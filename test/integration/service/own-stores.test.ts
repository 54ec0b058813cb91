/** Sources and results in S3 stores that requests name, on a real MinIO: with their own credentials, and with connections of the operator. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openS3 } from '../../../src/objects/s3/store.ts';
import type { ObjectStore } from '../../../src/objects/store.ts';
import { type Minio, type MinioSettings, startMinio } from '../../kit/objects/minio.ts';
import { type Answer, readAnswer, type Service, startService } from '../../kit/roles/service.ts';

const TABLE = 'name,size\nkestrel,7\n';
const RESULT = 'name\tsize\nkestrel\t7\n';
const MOST = 1 << 20;

let minio: Minio;
let bucket: MinioSettings;
let store: ObjectStore;
/** May reach the store as if it were public. */
let service: Service;
/** Reaches it by its connections alone. */
let closed: Service;
let secretDir: string;

beforeAll(async () => {
  minio = await startMinio();
  bucket = minio.settings();
  store = await openS3(bucket);
  await store.put('in/table.csv', Readable.from([TABLE]), MOST);
  await store.put('private/table.csv', Readable.from([TABLE]), MOST);
  secretDir = await mkdtemp(join(tmpdir(), 'filemill-connection-'));
  await writeFile(join(secretDir, 'accessKeyId'), `${bucket.accessKeyId}\n`);
  await writeFile(join(secretDir, 'secretAccessKey'), `${bucket.secretAccessKey}\n`);
  const port = Number(new URL(minio.endpoint).port);
  const open = { endpoint: minio.endpoint, buckets: [bucket.bucket], clients: ['127.0.0.0/8', '::/64'] };
  service = await startService({ fetch: { http: true, ports: [port], allow: ['127.0.0.1/32'] }, upkeep: { intervalMs: 100 } });
  closed = await startService({
    fetch: { privateOrigins: [minio.endpoint] },
    connections: {
      team: { ...open, secretDir, prefixes: ['in/', 'out/'] },
      others: { ...open, accessKeyId: bucket.accessKeyId, secretAccessKey: bucket.secretAccessKey, clients: ['192.0.2.0/24'] },
    },
  });
}, 120_000);
afterAll(async () => {
  await Promise.all([service?.stop(), closed?.stop()]);
  await minio?.stop();
  await rm(secretDir, { recursive: true, force: true });
});

const own = (change: object = {}) =>
  JSON.stringify({ endpoint: minio.endpoint, access_key_id: bucket.accessKeyId, secret_access_key: bucket.secretAccessKey, ...change });
const at = (key: string, name = bucket.bucket) => `s3://${name}/${key}`;
async function send(to: Service, fields: Readonly<Record<string, string>>, path = 'convert'): Promise<Answer> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ to_format: 'tsv', ...fields })) form.set(name, value);
  if (fields['url'] === undefined) form.append('file', new Blob([TABLE]), 'table.csv');
  return readAnswer(await fetch(`${to.url}/api/v1/${path}`, { method: 'POST', body: form }));
}
const stored = async (key: string): Promise<string> => text(await store.get(key));

it('an object becomes another object, with credentials of the request', async () => {
  const answer = await send(service, { url: at('in/table.csv'), output_url: at('out/own.tsv'), s3: own() });
  expect(answer).toMatchObject({ data: { status: 'done', destination: { state: 'stored', last_status: 200 } } });
  expect(await stored('out/own.tsv')).toBe(RESULT);
  expect(answer.data?.output?.filename).toBe('table-filemill.tsv');
  const files = (await readdir(service.dataDir)).filter((name) => name.startsWith('filemill.db'));
  const database = Buffer.concat(await Promise.all(files.map((name) => readFile(join(service.dataDir, name)))));
  for (const secret of [bucket.secretAccessKey, 'own.tsv', 'X-Amz-Signature']) {
    expect(JSON.stringify(answer)).not.toContain(secret);
    expect(database.includes(secret)).toBe(false);
  }
});

it('a key that ends with a slash is followed by the name of the result', async () => {
  await send(service, { output_url: at('out/below/'), s3: own() });
  expect(await stored('out/below/table-filemill.tsv')).toBe(RESULT);
});

it('a connection is used by its name, although its address is private, and only for its buckets, prefixes and clients', async () => {
  const team = '{"connection":"team"}';
  const answer = await send(closed, { url: at('in/table.csv'), output_url: at('out/team.tsv'), s3: team });
  expect(answer).toMatchObject({ data: { status: 'done', destination: { state: 'stored' } } });
  expect(await stored('out/team.tsv')).toBe(RESULT);
  for (const fields of [
    { url: at('private/table.csv'), s3: team },
    { output_url: at('private/x.tsv'), s3: team },
    { output_url: at('out/x.tsv', 'other-bucket'), s3: team },
    { url: at('in/table.csv'), s3: '{"connection":"others"}' },
    { url: at('in/table.csv'), s3: '{"connection":"none"}' },
    { url: at('in/table.csv'), s3: '{"connection":"constructor"}' },
  ])
    expect(await send(closed, fields)).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 's3' } } });
});

it.each(['X-Amz-Copy-Source', 'x-amz-acl', 'x-amz-tagging', 'authorization'])(
  'a header %s, which could reach past what a connection allows, is refused',
  async (header) => {
    const fields = { output_url: at('out/copied.tsv'), s3: '{"connection":"team"}' };
    const answer = await send(closed, { ...fields, output_headers: JSON.stringify({ [header]: `/${bucket.bucket}/private/table.csv` }) });
    expect(answer).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 'output_headers', received: null } } });
    expect(await store.head('out/copied.tsv')).toBeUndefined();
  },
);

it('a header that describes an object is stored with it', async () => {
  const fields = { output_url: at('out/described.tsv'), s3: '{"connection":"team"}' };
  const answer = await send(closed, { ...fields, output_headers: '{"Content-Disposition":"attachment","Cache-Control":"no-store"}' });
  expect(answer).toMatchObject({ data: { destination: { state: 'stored', last_status: 200 } } });
});

it('that a connection reaches a private address opens it to no other request', async () => {
  const direct = await send(closed, { url: `${minio.endpoint}/${bucket.bucket}/in/table.csv` });
  expect(direct).toMatchObject({ status: 400, error: { code: 'URL_REFUSED' } });
  const withKeys = await send(closed, { url: at('in/table.csv'), s3: own() });
  expect(withKeys).toMatchObject({ status: 400, error: { code: 'URL_REFUSED' } });
});

it('what the store refuses fails the request, or the job with its status', async () => {
  const wrong = own({ secret_access_key: 'a-wrong-secret' });
  expect((await send(service, { url: at('in/table.csv'), s3: wrong })).error?.code).toBe('URL_REFUSED');
  expect(await send(service, { output_url: at('out/refused.tsv'), s3: wrong })).toMatchObject({
    status: 424,
    error: { code: 'OUTPUT_NOT_STORED', details: { status: 403 } },
  });
  expect(await send(service, { output_url: at('x.tsv', 'no-such-bucket'), s3: own() })).toMatchObject({
    error: { code: 'OUTPUT_NOT_STORED', details: { status: 404 } },
  });
});

it.each([
  ['no login', 'in/table.csv', undefined, 's3'],
  ['a login that is no JSON', 'in/table.csv', 'secret', 's3'],
  ['a login with half of its keys', 'in/table.csv', '{"endpoint":"https://s3.example","access_key_id":"secret"}', 's3'],
  ['an endpoint with a path', 'in/table.csv', '{"endpoint":"https://s3.example/secret","access_key_id":"a","secret_access_key":"b"}', 's3'],
  ['a login too long', 'in/table.csv', `{"connection":"${'secret'.repeat(1_000)}"}`, 's3'],
  ['a key that climbs', 'in/../private/secret', 'own', 'url'],
  ['a key with an empty part', 'in//secret', 'own', 'url'],
  ['a key with a control character', 'in/a\u0007secret', 'own', 'url'],
  ['a key of 1,025 bytes', `secret${'é'.repeat(510)}`, 'own', 'url'],
  ['no key', '', 'own', 'url'],
])('%s is refused, and nothing of it is repeated', async (_, key, login, option) => {
  const answer = await send(service, { url: at(key), ...(login === undefined ? {} : { s3: login === 'own' ? own() : login }) });
  expect(answer).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option, received: null } } });
  expect(JSON.stringify(answer.error).replaceAll(/secret_access_key|access_key_id/g, '')).not.toContain('secret');
});

it('how a store is used is refused where no object is named', async () =>
  expect(await send(service, { s3: own() })).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 's3' } } }));

it('an endpoint at an inner address is none for credentials of a request', async () => {
  const inner = own({ endpoint: 'http://169.254.169.254' });
  const answer = await send(service, { output_url: at('out/inner.tsv'), s3: inner });
  expect(answer).toMatchObject({ status: 400, error: { code: 'URL_REFUSED', details: { field: 'output_url' } } });
});
