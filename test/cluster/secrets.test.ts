/** ConversionJobs that name Secrets, on a real API server with the controller as a process: passwords, private sources, buckets of one's own, and where none of it may be read. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Client } from 'minio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConversionJobStatus } from '../../src/contracts/kubernetes/conversion-job.ts';
import { CONVERSION_JOBS, type ConversionJobObject } from '../../src/controller/conversion-jobs/resource.ts';
import { unlessNotFound } from '../../src/kube/connection/error.ts';
import { openS3, type S3Store } from '../../src/objects/s3/store.ts';
import { eventually } from '../kit/api/wire.ts';
import { type Controller, startController } from '../kit/controller/controller.ts';
import { kstatus } from '../kit/controller/operator.ts';
import { pdf } from '../kit/fixtures/documents/pdf.ts';
import { type Cluster as Kubernetes, startKubernetes } from '../kit/kube/kubernetes.ts';
import { authorityIn } from '../kit/nats/certificates.ts';
import type { MinioSettings } from '../kit/objects/minio.ts';
import { type Cluster, type Role, startCluster } from '../kit/roles/cluster.ts';

const SHARED_KEY = 'a-secret-that-all-replicas-of-this-test-share';
const WORDS = 'the minutes of the board';
const NAMESPACE = 'team-a';
/** Every value that a Secret of this test has: none may be read anywhere. */
const PASSWORD = 'hunter-two-of-the-board';
const TOKEN = 'token-of-the-file-server';
const BASIC = 'basic-password-of-the-server';
const HEADER = 'header-value-of-the-server';
const WRONG = 'this-password-opens-nothing';
const SIGNATURE = 'signature-of-the-presigned-url';
const STORE_HEADER = 'header-value-of-the-store';

let kubernetes: Kubernetes;
let cluster: Cluster;
let controller: Controller;
let roles: Role[];
let folder: string;
let own: S3Store;
let bucket: MinioSettings;
let servers: Server[];
/** The origins of the server that asks for credentials, and of another. */
let origins: string[];
/** What each was sent: its path and its headers. */
const asked: { readonly at: number; readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];
/** What was put there, by path. */
const put = new Map<string, string>();
/** All that went over NATS, but for what one worker is told of one conversion: there it gets the password that it opens the file with. */
let overheard = '';
/** What clients read of jobs. */
let shown = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-secrets-'));
  const plain = pdf([[WORDS]]);
  const locked = await lockedPdf(plain);
  const authority = authorityIn(folder);
  const { cert, key } = authority.identity('files', 'IP:127.0.0.1,IP:127.0.0.2');
  const identity = { cert: readFileSync(cert), key: readFileSync(key) };
  servers = ['127.0.0.1', '127.0.0.2'].map((host, at) =>
    createServer(identity, (request, response) => {
      const { url = '', headers, method } = request;
      asked.push({ at, path: url, headers });
      if (method === 'PUT') {
        const keep = (body: string) => {
          put.set(url, body);
          response.writeHead(url.startsWith('/refused') ? 403 : 200).end();
        };
        return void text(request).then(keep, () => response.destroy());
      }
      if (url === '/moved.pdf') return void response.writeHead(302, { location: `${origins[1]}/public.pdf` }).end();
      if (url === '/within.pdf') return void response.writeHead(302, { location: '/private.pdf' }).end();
      const knows = [`Bearer ${TOKEN}`, `Basic ${Buffer.from(`reader:${BASIC}`).toString('base64')}`];
      if (url === '/private.pdf' && !knows.includes(headers.authorization ?? '') && headers['private-token'] !== HEADER)
        return void response.writeHead(401).end();
      response.end(url === '/locked.pdf' ? locked : plain);
    }).listen(0, host),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))));
  origins = servers.map((server) => {
    const { address, port } = server.address() as AddressInfo;
    return `https://${address}:${port}`;
  });

  [kubernetes, cluster] = await Promise.all([startKubernetes({ without: ['controllers', 'scheduler', 'kwok'] }), startCluster()]);
  bucket = cluster.minio.settings({ bucket: 'team-a-own' });
  own = await openS3(bucket);
  await own.put('incoming/board.pdf', Readable.from([plain]), 1 << 20);
  const { core } = await cluster.nats.connect();
  core.subscribe('>', {
    callback: (_, message) => {
      if (!message.subject.startsWith('_INBOX.worker.')) overheard += `${message.subject} ${message.string()}\n`;
    },
  });

  await kubectl('apply', '--server-side', '--filename=manifests/crds');
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd/conversionjobs.filemill.io', 'crd/toolchainpools.filemill.io');
  await eventually(async () => (await kubernetes.kubectl(['get', 'conversionjobs'])).code === 0, 'the resources to be served');
  for (const namespace of ['filemill', NAMESPACE, 'team-b']) await kubectl('create', 'namespace', namespace);
  await kubectl('apply', '--server-side', '--filename=manifests/rbac/all-namespaces.yaml');
  await kubectl('apply', `--namespace=${NAMESPACE}`, '--filename=manifests/rbac/secrets.yaml');

  // The second server is public, as far as results go.
  const ports = [443, Number(new URL(origins[1] ?? '').port)];
  const fetch = { privateOrigins: [...origins, bucket.endpoint], allow: ['127.0.0.2/32'], ports };
  const environment = { NODE_EXTRA_CA_CERTS: authority.ca, LOG_LEVEL: 'debug' };
  roles = [
    await cluster.start('api', environment, { fetch, limits: { enabled: false } }),
    await cluster.start('worker', { POOL: 'pdf', LOG_LEVEL: 'debug' }, { worker: { partial: true } }),
  ];
  controller = await startController({
    kubeconfig: await kubernetes.kubeconfigFor({ name: 'filemill-controller', namespace: 'filemill' }),
    natsUrl: cluster.nats.addresses.join(','),
    environment: { SECRET_KEY: SHARED_KEY, LOG_LEVEL: 'debug' },
    settings: { controller: { namespace: 'filemill', allNamespaces: true } },
  });
  await eventually(knowsPdf, 'the replica knows of the worker', 60_000);
}, 240_000);
afterAll(async () => {
  await controller?.stop();
  await Promise.all([cluster?.stop(), kubernetes?.stop()]);
  for (const server of servers ?? []) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true, force: true });
});

async function lockedPdf(plain: Buffer): Promise<Buffer> {
  const [from, to] = [join(folder, 'plain.pdf'), join(folder, 'locked.pdf')];
  await writeFile(from, plain);
  await promisify(execFile)('qpdf', ['--encrypt', PASSWORD, 'owner', '256', '--', from, to]);
  return readFile(to);
}

async function knowsPdf(): Promise<boolean> {
  const { data } = (await (await fetch(`${roles[0]?.url}/api/v1/formats`)).json()) as { data: { sources: { format: string }[] } };
  return data.sources.some(({ format }) => format === 'pdf');
}

/** @returns what it printed @throws with its complaint */
async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubernetes.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

async function apply(object: object): Promise<void> {
  const { code, stderr } = await kubernetes.kubectl(['apply', '--filename=-'], JSON.stringify(object));
  if (code !== 0) throw new Error(stderr);
}

const secret = (
  name: string,
  data: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>> = {},
  namespace = NAMESPACE,
) =>
  apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      namespace,
      annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`filemill.io/${key}`, value])),
    },
    stringData: data,
  });

const job = (name: string, spec: object, namespace = NAMESPACE) =>
  apply({ apiVersion: 'filemill.io/v1alpha1', kind: 'ConversionJob', metadata: { name, namespace }, spec: { toFormat: 'txt', ...spec } });

const read = (name: string, namespace = NAMESPACE) => kubernetes.kube.get<ConversionJobObject>(CONVERSION_JOBS, { namespace, name });
const statusOf = async (name: string, namespace = NAMESPACE): Promise<ConversionJobStatus> =>
  (await read(name, namespace).catch(unlessNotFound))?.status ?? {};

/** Resolves when it has this phase, and this reason of the condition where one is named. @throws with its status */
async function becomes(name: string, phase: string, reason?: string, namespace = NAMESPACE): Promise<ConversionJobStatus> {
  let last: ConversionJobStatus = {};
  const look = async () => {
    last = await statusOf(name, namespace);
    return last.phase === phase && (reason === undefined || last.conditions?.some((one) => one.reason === reason) === true);
  };
  await eventually(look, `${name} to be ${phase} ${reason ?? ''}`, 60_000).catch((cause: unknown) => {
    throw new Error(JSON.stringify(last), { cause });
  });
  return last;
}

const outputOf = async ({ output }: ConversionJobStatus): Promise<string> => (await fetch(output?.url ?? '')).text();
const messages = ({ conditions = [] }: ConversionJobStatus) => conditions.map(({ message }) => message).join(' ');
const ref = (name: string, key: string) => ({ secretKeyRef: { name, key } });
const hosts = () => origins.map((origin) => new URL(origin).host).join(',');

/** A bucket with credentials from the Secret `bucket`. */
const ownBucket = (more: object = {}) => ({
  endpoint: bucket.endpoint,
  bucket: bucket.bucket,
  accessKeyIDSecretRef: { name: 'bucket', key: 'id' },
  secretAccessKeySecretRef: { name: 'bucket', key: 'secret' },
  ...more,
});

describe('a password from a Secret', () => {
  it('opens an encrypted file', async () => {
    await secret('board', { password: PASSWORD, token: TOKEN }, { 'used-for': 'password, source', 'allowed-hosts': hosts() });
    await job('locked', {
      source: { url: `${origins[0]}/locked.pdf`, authorization: ref('board', 'token') },
      passwordFrom: ref('board', 'password'),
    });
    const status = await becomes('locked', 'Complete');
    expect(await outputOf(status)).toContain(WORDS);
    expect(await kstatus(await read('locked'))).toContain('Current');
  });

  it('that is the wrong one fails as it does over REST', async () => {
    await secret('wrong', { password: WRONG, token: TOKEN }, { 'used-for': 'password,source', 'allowed-hosts': hosts() });
    await job('wrong', {
      source: { url: `${origins[0]}/locked.pdf`, authorization: ref('wrong', 'token') },
      passwordFrom: ref('wrong', 'password'),
    });
    expect((await becomes('wrong', 'Failed')).error).toMatchObject({ code: 'CONVERSION_FAILED', reason: 'wrong_password' });
    expect(await kstatus(await read('wrong'))).toContain('Failed');
  });
});

describe('a Secret', () => {
  const source = { key: 'board.pdf' };

  it.each([
    ['is not there', 'none', undefined, { k: PASSWORD }, 'SecretNotFound'],
    ['does not say that it may be used', 'silent', {}, { k: PASSWORD }, 'SecretNotAllowed'],
    ['may be used for something else', 'other', { 'used-for': 'source,output', 'allowed-hosts': '*' }, { k: PASSWORD }, 'SecretNotAllowed'],
    ['has no such key', 'keyless', { 'used-for': 'password' }, { another: PASSWORD }, 'SecretKeyNotFound'],
  ])('that %s keeps its job waiting', async (_, name, annotations, data, reason) => {
    if (annotations !== undefined) await secret(name, data, annotations);
    await job(`asks-${name}`, { source, passwordFrom: ref(name, 'k') });
    const status = await becomes(`asks-${name}`, 'Pending', reason);
    expect(messages(status)).toContain('spec.passwordFrom.secretKeyRef: ');
    expect(await kstatus(await read(`asks-${name}`))).toContain('InProgress');
    const told = () => kubectl('get', 'events', `--namespace=${NAMESPACE}`, '--output=jsonpath={.items[*].reason}');
    await eventually(async () => (await told()).includes(reason), 'the Event');
  });

  it('is used as soon as it allows it', async () => {
    await secret('late', { password: PASSWORD, token: TOKEN }, { 'used-for': 'password', 'allowed-hosts': hosts() });
    await job('late', {
      source: { url: `${origins[0]}/locked.pdf`, authorization: ref('late', 'token') },
      passwordFrom: ref('late', 'password'),
    });
    await becomes('late', 'Pending', 'SecretNotAllowed');
    await kubectl('annotate', `--namespace=${NAMESPACE}`, '--overwrite', 'secret/late', 'filemill.io/used-for=password,source');
    expect(await outputOf(await becomes('late', 'Complete'))).toContain(WORDS);
  });

  it('of a namespace where the controller was given no right is not read', async () => {
    await secret('board', { password: PASSWORD }, { 'used-for': 'password' }, 'team-b');
    await job('asks', { source, passwordFrom: ref('board', 'password') }, 'team-b');
    const status = await becomes('asks', 'Pending', 'SecretForbidden', 'team-b');
    expect(messages(status)).toContain('manifests/rbac/secrets.yaml');
  });

  it('is sent to no host that it does not allow: a user who creates ConversionJobs cannot direct it to another', async () => {
    await secret('held', { token: TOKEN }, { 'used-for': 'source', 'allowed-hosts': 'files.example.org, *.example.com' });
    await job('steals', { source: { url: `${origins[1]}/stolen.pdf`, authorization: ref('held', 'token') } });
    await becomes('steals', 'Pending', 'HostNotAllowed');
    expect(asked.filter(({ path }) => path === '/stolen.pdf')).toEqual([]);
  });
});

describe('a private source', () => {
  beforeAll(() =>
    secret('server', { user: 'reader', password: BASIC, token: TOKEN, header: HEADER }, { 'used-for': 'source', 'allowed-hosts': hosts() }),
  );

  it.each([
    ['a token', 'bearer', { authorization: ref('server', 'token') }],
    [
      'a user name and a password',
      'basic',
      { basicAuth: { username: { name: 'server', key: 'user' }, password: { name: 'server', key: 'password' } } },
    ],
    ['a header', 'header', { headersFrom: [{ name: 'PRIVATE-TOKEN', ...ref('server', 'header') }] }],
  ])('is asked for with %s, which follow a redirect on the same host', async (_, name, credentials) => {
    await job(name, { source: { url: `${origins[0]}/within.pdf`, ...credentials } });
    expect(await outputOf(await becomes(name, 'Complete'))).toContain(WORDS);
  });

  it('that redirects to another host tells it nothing', async () => {
    await job('moved', {
      source: {
        url: `${origins[0]}/moved.pdf`,
        authorization: ref('server', 'token'),
        headersFrom: [{ name: 'PRIVATE-TOKEN', ...ref('server', 'header') }],
      },
    });
    await becomes('moved', 'Complete');
    const [first] = asked.filter(({ path }) => path === '/moved.pdf');
    expect([first?.headers.authorization, first?.headers['private-token']]).toEqual([`Bearer ${TOKEN}`, HEADER]);
    const [second] = asked.filter(({ path, at }) => path === '/public.pdf' && at === 1);
    expect(second?.headers).not.toHaveProperty('authorization');
    expect(second?.headers).not.toHaveProperty('private-token');
  });

  it('at a private address is fetched only with credentials', async () => {
    await job('open', { source: { url: `${origins[0]}/public.pdf` } });
    expect((await becomes('open', 'Failed')).error?.code).toBe('URL_REFUSED');
  });
});

describe("a bucket of one's own", () => {
  beforeAll(() =>
    secret(
      'bucket',
      { id: bucket.accessKeyId, secret: bucket.secretAccessKey },
      { 'used-for': 'source,output', 'allowed-hosts': new URL(bucket.endpoint).host },
    ),
  );
  const at = async (key: string) => text(await own.get(key));

  it('is read from and written to, and the status says where', async () => {
    await job('trip', {
      source: { s3: ownBucket({ key: 'incoming/board.pdf' }) },
      output: { s3: ownBucket({ prefix: 'converted/' }) },
    });
    const status = await becomes('trip', 'Complete', 'Uploaded');
    const key = 'converted/board-filemill.txt';
    expect(status.output).toMatchObject({ filename: 'board-filemill.txt', s3: { endpoint: bucket.endpoint, bucket: bucket.bucket, key } });
    expect(status.output).not.toHaveProperty('url');
    expect(await at(key)).toContain(WORDS);
    expect(await kstatus(await read('trip'))).toContain('Current');
  });

  it('that is not there for its source fails for good, with the field in its words', async () => {
    await job('absent', { source: { s3: ownBucket({ key: 'incoming/absent.pdf' }) } });
    expect((await becomes('absent', 'Failed')).error?.code).toBe('NOT_FOUND');
  });

  it('that cannot be written to is tried again, and written to once it can', async () => {
    const s3 = ownBucket({ bucket: 'made-later', key: 'late.txt' });
    await job('patient', { source: { s3: ownBucket({ key: 'incoming/board.pdf' }) }, output: { s3 } });
    const waiting = await becomes('patient', 'Running', 'UploadFailed');
    expect(waiting.upload).toMatchObject({ failures: 1 });
    expect(messages(waiting)).toContain('NoSuchBucket');
    expect(await kstatus(await read('patient'))).toContain('InProgress');
    const { port } = new URL(bucket.endpoint);
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = bucket;
    await new Client({ endPoint: '127.0.0.1', port: Number(port), useSSL: false, accessKey, secretKey }).makeBucket('made-later');
    await becomes('patient', 'Complete', 'Uploaded');
    expect(await text(await (await openS3({ ...bucket, bucket: 'made-later' })).get('late.txt'))).toContain(WORDS);
  });
});

describe('a destination from a Secret', () => {
  const destination = (name: string) => ({
    source: { s3: ownBucket({ key: 'incoming/board.pdf' }) },
    destination: { urlFrom: ref(name, 'url'), headersFrom: [{ name: 'X-Store', ...ref(name, 'header') }] },
  });
  const secretFor = (name: string, path: string) =>
    secret(
      name,
      { url: `${origins[1]}${path}?X-Signature=${SIGNATURE}`, header: STORE_HEADER },
      { 'used-for': 'output', 'allowed-hosts': hosts() },
    );

  it('has the result before the job is complete, and no client that reads the job sees where', async () => {
    await secretFor('store', '/stored');
    await job('stored', destination('store'));
    const { jobId } = await becomes('stored', 'Complete');
    expect(put.get(`/stored?X-Signature=${SIGNATURE}`)).toContain(WORDS);
    expect(asked.find(({ path }) => path.startsWith('/stored'))?.headers['x-store']).toBe(STORE_HEADER);
    shown += await (await fetch(`${roles[0]?.url}/api/v1/jobs/${jobId}`)).text();
    expect(shown).toContain('"destination":{"state":"stored"');
  });

  it('that refuses the result fails the job for good, with its status', async () => {
    await secretFor('refusing', '/refused');
    await job('refused', destination('refusing'));
    const { error, jobId } = await becomes('refused', 'Failed');
    expect(error?.code).toBe('OUTPUT_NOT_STORED');
    shown += await (await fetch(`${roles[0]?.url}/api/v1/jobs/${jobId}`)).text();
    expect(shown).toContain('OUTPUT_NOT_STORED');
  });
});

it('no value of a Secret is in a message over NATS, a log, a status, an Event, or what clients read of a job', async () => {
  const kept = await Promise.all([
    kubectl('get', 'conversionjobs', '--all-namespaces', '--output=yaml', '--show-managed-fields'),
    kubectl('get', 'events', '--all-namespaces', '--output=yaml'),
  ]);
  const logs = [...roles.flatMap(({ lines }) => lines), ...controller.lines].join('\n');
  expect([overheard.includes('submit.convert'), overheard.includes('submit.upload'), logs.length > 0]).toEqual([true, true, true]);
  const places = { overheard, logs, shown, resources: kept[0], events: kept[1] };
  const values = [PASSWORD, WRONG, TOKEN, BASIC, HEADER, SIGNATURE, STORE_HEADER, bucket.secretAccessKey];
  const found = values.flatMap((value) => {
    const forms = [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), Buffer.from(value).toString('hex')];
    return Object.entries(places).flatMap(([place, all]) =>
      forms.filter((form) => all.includes(form)).map((form) => `${form} in ${place}`),
    );
  });
  expect(found).toEqual([]);
});
