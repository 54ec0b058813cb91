/** What the controller asks of the API, over real NATS and S3 servers: each resource becomes one job, whichever replica is asked and however often. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boundTo, SUBMISSION_VERSION, type SubmissionAnswer, type SubmissionQuestion } from '../../../src/contracts/messages/submission.ts';
import { encryptionWith, saltOf } from '../../../src/jobs/encryption.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { openS3, type S3Store } from '../../../src/objects/s3/store.ts';
import { askSubmission } from '../../kit/api/submissions.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Cluster, type Role, startCluster } from '../../kit/roles/cluster.ts';
import type { Settings } from '../../kit/roles/service.ts';

const DAILY = 5;

let origin: Server;
let base: string;
/** Paths that the origin was asked for, and the answers that it holds back. */
const asked: string[] = [];
const held: ServerResponse[] = [];
let closed = 0;
let cluster: Cluster;
let first: Role;
let second: Role;
let nats: Nats;
let bucket: S3Store;
let picture: Buffer;
let settings: Settings;

beforeAll(async () => {
  picture = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  origin = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    if (path.startsWith('/picture')) return void response.end(picture);
    if (path === '/empty') return void response.end();
    if (path === '/noise') return void response.end(Buffer.from([0, 1, 2, 250, 3, 9]));
    if (path === '/cut.png') return void response.end(picture.subarray(0, 60));
    if (path === '/large') return void response.end(Buffer.alloc(5_000, 97));
    if (!path.startsWith('/held')) return void response.writeHead(404).end();
    response.write(picture.subarray(0, 20));
    response.on('close', () => closed++);
    held.push(response);
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const { port } = origin.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  cluster = await startCluster();
  nats = await cluster.nats.connect();
  settings = {
    fetch: { http: true, ports: [port, 80], allow: ['127.0.0.1/32'] },
    limits: { enabled: true, cooldownMs: 0, daily: DAILY },
    api: { maxFileBytes: 4_000 },
  };
  [first, second] = await Promise.all([cluster.start('api', {}, settings), cluster.start('api', {}, settings)]);
  await Promise.all(['image', 'pdf'].map((POOL) => cluster.start('worker', { POOL })));
  bucket = await openS3(cluster.bucket);
  for (const replica of [first, second]) await eventually(() => knowsWorkers(replica), 'a replica knows of the workers', 30_000);
});
afterAll(async () => {
  await cluster?.stop();
  origin?.closeAllConnections();
  origin?.close();
});

async function knowsWorkers({ url }: Role): Promise<boolean> {
  const { data } = (await (await fetch(`${url}/api/v1/formats`)).json()) as { data: { sources: { format: string }[] } };
  return ['png', 'pdf'].every((known) => data.sources.some(({ format }) => format === known));
}

let uids = 0;
/** A resource that was not submitted before: in a separate namespace, unless said otherwise. */
function resource(change: Record<string, unknown> = {}) {
  const uid = `0c6f4e5a-${++uids}`;
  return {
    version: SUBMISSION_VERSION,
    uid,
    namespace: `team-${uids}`,
    source: { url: `${base}/picture.png` },
    toFormat: 'webp',
    ...change,
  };
}
const ask = (kind: SubmissionQuestion, about: object): Promise<SubmissionAnswer> => askSubmission(nats, kind, about);
const convert = (about: object): Promise<SubmissionAnswer> => ask('convert', about);
const jobOf = (answer: SubmissionAnswer) => ('data' in answer ? answer.data : undefined);
const errorOf = (answer: SubmissionAnswer) => ('error' in answer ? answer.error : undefined);

/** As soon as it has ended, well or badly. */
function ended(about: object): Promise<SubmissionAnswer> {
  return eventually(async () => {
    const answer = await ask('look', about);
    return jobOf(answer)?.status === 'processing' ? undefined : answer;
  }, 'the job to end');
}
const output = ({ url }: Role, id: string | undefined) => fetch(`${url}/api/v1/jobs/${id}/output`);
async function inputsOf(id: unknown): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of bucket.scan(`jobs/${String(id)}/input`)) keys.push(key);
  return keys;
}
const timesAsked = (path: string): number => asked.filter((one) => one === path).length;

describe('a submission', () => {
  it('converts what a URL leads to, and links to the output', async () => {
    const about = resource();
    const { job_id: id = '' } = jobOf(await convert(about)) ?? {};
    const done = jobOf(await ended(about));
    expect(done).toMatchObject({
      job_id: id,
      status: 'done',
      output: { filename: 'picture-filemill.webp', url: done?.links.output },
    });
    const { format, width, height } = await sharp(Buffer.from(await (await fetch(done?.output?.url ?? '')).arrayBuffer())).metadata();
    expect([format, width, height]).toEqual(['webp', 64, 48]);
  });

  it('runs the steps of a recipe, and refuses one that is none for good', async () => {
    const steps = [
      { name: 'pdf', do: 'convert', options: { to_format: 'pdf' } },
      { name: 'parts', do: 'split-pdf', max_files: 3 },
    ];
    const about = resource({ toFormat: undefined, recipe: JSON.stringify({ steps, outputs: ['pdf', 'parts'] }) });
    await convert(about);
    const done = jobOf(await ended(about));
    expect(done?.outputs?.map(({ name, filename }) => [name, filename])).toEqual([
      ['pdf', 'picture-filemill.pdf'],
      ['parts', 'picture-filemill-2.pdf'],
    ]);
    const wrong = resource({ toFormat: undefined, recipe: JSON.stringify({ steps: [{ name: 'a', do: 'nothing' }] }) });
    expect(errorOf(await convert(wrong))).toMatchObject({ code: 'BAD_REQUEST', details: { step: 'a', field: 'do' } });
  });

  it('converts an imported object, takes options and a name, and leaves the object', async () => {
    const key = 'imports/painters/2026/view.png';
    await bucket.put(key, Readable.from([picture]), 10_000);
    const about = resource({
      namespace: 'painters',
      source: { key: '2026/view.png' },
      options: { img_resize_w: '32' },
      filename: 'Ansicht.png',
    });
    await convert(about);
    const done = jobOf(await ended(about));
    expect(done?.output?.filename).toBe('Ansicht-filemill.webp');
    const { width } = await sharp(Buffer.from(await (await output(second, done?.job_id)).arrayBuffer())).metadata();
    expect(width).toBe(32);
    expect((await bucket.head(key))?.sizeBytes).toBe(picture.length);
  });

  it.each(['.webp', 'WEBP'])('names its format as REST does: %s', async (toFormat) => {
    const about = resource({ namespace: 'namers', toFormat });
    await convert(about);
    expect(jobOf(await ended(about))?.output?.filename).toBe('picture-filemill.webp');
  });

  it('has its job sent to the server that it names', async () => {
    const about = resource({ webhook: { url: `${base}/hook` } });
    await convert(about);
    await eventually(() => timesAsked('/hook') > 0, 'the message');
    expect(jobOf(await ended(about))?.webhook?.attempts).toBeGreaterThan(0);
  });

  it.each([
    ['is done when its result is stored at the URL that it names', '/picture-put', 'done'],
    ['fails with the status of a store that refuses its result', '/nowhere', 404],
  ])('%s', async (_, path, end) => {
    const about = resource();
    const key = ['a-secret-that-all-replicas-of-this-test-share'];
    const secrets = JSON.stringify({ destination: { url: `${base}${path}?secret`, headers: { 'x-a': '1' } } });
    const encrypted = encryptionWith(key, saltOf(key, undefined)).encrypt(secrets, boundTo(about));
    await convert({ ...about, encrypted });
    const answer = await ended(about);
    if (end === 'done') expect(jobOf(answer)).toMatchObject({ status: 'done', destination: { state: 'stored', attempts: 1 } });
    else expect(errorOf(answer)).toMatchObject({ code: 'OUTPUT_NOT_STORED', details: { status: end, retryable: false } });
    expect(timesAsked(`${path}?secret`)).toBe(1);
    expect(JSON.stringify(answer)).not.toContain('?secret');
  });

  it('calls a tool', async () => {
    const about = resource({ toFormat: undefined, tool: 'rotate-image', options: { img_rotate: '90' } });
    await convert(about);
    const done = jobOf(await ended(about));
    const { format, width, height } = await sharp(Buffer.from(await (await output(first, done?.job_id)).arrayBuffer())).metadata();
    expect([format, width, height]).toEqual(['png', 48, 64]);
  });

  it('that comes again and again is one job, fetched and counted once', async () => {
    const about = resource({ source: { url: `${base}/picture-twice.png` } });
    const answers = await Promise.all(Array.from({ length: 2 * DAILY }, () => convert(about)));
    const { job_id: id } = jobOf(await ended(about)) ?? {};
    answers.push(await convert(about));
    expect(new Set(answers.flatMap((answer) => jobOf(answer)?.job_id ?? []))).toEqual(new Set([id]));
    expect(timesAsked('/picture-twice.png')).toBe(1);
    for (let n = 1; n < DAILY; n++) expect(errorOf(await convert(resource({ namespace: about.namespace })))).toBeUndefined();
    expect(errorOf(await convert(resource({ namespace: about.namespace })))).toMatchObject({
      code: 'RATE_LIMITED',
      details: { tier: 'daily', retryable: true },
    });
  });

  it('has an id that its uid does not give away, and is found in no other namespace', async () => {
    const about = resource();
    const { job_id: id } = jobOf(await convert(about)) ?? {};
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(errorOf(await ask('look', { ...about, namespace: 'others' }))?.code).toBe('JOB_NOT_FOUND');
  });

  it('of a slow source is answered before it is fetched, and is neither lost nor doubled', async () => {
    const about = resource({ source: { url: `${base}/held-1.png` } });
    expect(await convert(about)).toEqual({ fetching: true });
    // Either replica may be asked.
    for (let n = 0; n < 4; n++) expect(await convert(about)).toEqual({ fetching: true });
    held.pop()?.end(picture.subarray(20));
    const job = await eventually(async () => jobOf(await convert(about)), 'the source to be fetched');
    expect(jobOf(await ended(about))).toMatchObject({ job_id: job.job_id, status: 'done' });
    expect(timesAsked('/held-1.png')).toBe(1);
  });
});

describe('a refusal', () => {
  it.each([
    ['an address that is not public', { source: { url: 'http://10.0.0.1/a.png' } }, 'URL_REFUSED', { reason: 'address' }],
    ['nothing there', { source: { url: '/nowhere' } }, 'URL_REFUSED', { reason: 'unreachable', status: 404 }],
    ['an empty file', { source: { url: '/empty' } }, 'NO_FILE', {}],
    ['what is no file of any kind', { source: { url: '/noise' } }, 'UNSUPPORTED_MIME', {}],
    ['more bytes than are accepted', { source: { url: '/large' } }, 'FILE_TOO_LARGE', { max_bytes: 4_000 }],
    ['a format that there is not', { toFormat: 'zzz' }, 'INVALID_FORMAT', { to_format: 'zzz' }],
    ['an option out of bounds', { options: { img_quality: '101' } }, 'INVALID_OPTION', { option: 'img_quality' }],
    ['a tool that there is not', { toFormat: undefined, tool: 'fold-paper' }, 'NOT_FOUND', {}],
    ['a tool that is not installed', { toFormat: undefined, tool: 'flip-image' }, 'NOT_IMPLEMENTED', { slug: 'flip-image' }],
    ['a tool that takes several files', { toFormat: undefined, tool: 'merge-pdf' }, 'BAD_REQUEST', { min_files: 2, received_files: 1 }],
    ['an object that is not there', { namespace: 'mine', source: { key: 'none.png' } }, 'NOT_FOUND', { field: 'source.key' }],
    ['format and tool together', { tool: 'blur-image' }, 'BAD_REQUEST', {}],
  ] as const)('of %s has the code of REST, and is the same when it is asked for again', async (_, change, code, details) => {
    const source =
      'source' in change && 'url' in change.source && change.source.url.startsWith('/') ? { url: base + change.source.url } : {};
    const about = resource({ ...change, ...('url' in source ? { source } : {}) });
    const refused = errorOf(await convert(about));
    expect(refused).toMatchObject({ code, details: { ...details, retryable: false } });
    const before = asked.length;
    expect(errorOf(await convert(about))).toMatchObject({ code, message: refused?.message });
    expect(asked.length).toBe(before);
    expect(await inputsOf(errorOf(await convert(about))?.details['job_id'])).toEqual([]);
  });

  it('counts against the limits of its namespace, and leaves no more than they allow', async () => {
    const namespace = 'careless';
    const kept = async () => (await nats.manager.streams.info('KV_jobs')).state.messages;
    const before = await kept();
    const wishes = [{ source: { url: `${base}/noise` } }, { toFormat: 'zzz' }, { toFormat: undefined, tool: 'fold-paper' }];
    const answers: (string | undefined)[] = [];
    for (let n = 0; n < DAILY + 3; n++) answers.push(errorOf(await convert(resource({ namespace, ...wishes[n % wishes.length] })))?.code);
    expect(answers.slice(0, 3)).toEqual(['UNSUPPORTED_MIME', 'INVALID_FORMAT', 'NOT_FOUND']);
    expect(answers.map((code) => code === 'RATE_LIMITED')).toEqual(answers.map((_, n) => n >= DAILY));
    expect((await kept()) - before).toBeLessThanOrEqual(DAILY);
  });

  it.each(['../theirs/view.png', 'a/../../theirs/view.png', '/../../theirs/view.png', './../theirs/view.png', '..', '/view.png'])(
    'answers the key %s, which leads out of the folder of its namespace',
    async (key) => {
      await bucket.put('imports/theirs/view.png', Readable.from([picture]), 10_000);
      const about = resource({ source: { key } });
      const refused = errorOf(await convert(about));
      expect(refused).toMatchObject({ code: 'BAD_REQUEST', details: { field: 'source.key', prefix: `imports/${about.namespace}/` } });
    },
  );

  it.each(['imports/theirs/view.png', 'jobs/0123456789abcdef0123456789abcdef/input-0'])(
    'looks for %s below its namespace alone',
    async (key) => {
      await bucket.put(key, Readable.from([picture]), 10_000);
      const refused = errorOf(await convert(resource({ namespace: 'mine', source: { key } })));
      expect(refused).toMatchObject({ code: 'NOT_FOUND', details: { field: 'source.key' } });
    },
  );

  it('of a question of a newer version is temporary', async () => {
    expect(await convert(resource({ version: 99 }))).toMatchObject({ error: { code: 'OVERLOADED' }, retry_after: 5 });
  });
});

it('a file that is damaged fails as over REST, with its reason', async () => {
  const about = resource({ source: { url: `${base}/cut.png` } });
  await convert(about);
  const failed = errorOf(await ended(about));
  expect(failed).toMatchObject({ code: 'CONVERSION_FAILED', details: { reason: 'corrupt_input' } });
  const rest = await fetch(`${second.url}/api/v1/jobs/${String(failed?.details['job_id'])}`);
  expect([rest.status, ((await rest.json()) as { error: object }).error]).toMatchObject([500, { code: 'CONVERSION_FAILED' }]);
});

describe('a cancelled submission', () => {
  it('that was done is gone, and stays gone', async () => {
    const about = resource();
    await convert(about);
    const { job_id: id } = jobOf(await ended(about)) ?? {};
    expect(await ask('cancel', about)).toEqual({ cancelled: true });
    expect((await output(second, id)).status).toBe(410);
    expect(errorOf(await ask('look', about))?.code).toBe('JOB_EXPIRED');
    expect(errorOf(await convert(about))?.code).toBe('JOB_EXPIRED');
    expect(await ask('cancel', about)).toEqual({ cancelled: true });
  });

  it('whose source is being fetched ends the download, and leaves nothing', async () => {
    const about = resource({ source: { url: `${base}/held-3.png` } });
    expect(await convert(about)).toEqual({ fetching: true });
    const before = closed;
    await eventually(async () => 'cancelled' in (await ask('cancel', about)), 'the download to end');
    await eventually(() => closed > before, 'the connection to close');
    expect(errorOf(await convert(about))?.code).toBe('JOB_EXPIRED');
    expect(timesAsked('/held-3.png')).toBe(1);
  });

  it('that the API never received is no error', async () => {
    expect(await ask('cancel', resource())).toEqual({ cancelled: true });
  });
});

it('a submission outlives the replica that fetches its source', async () => {
  const about = resource({ source: { url: `${base}/held-2.png` } });
  expect(await convert(about)).toEqual({ fetching: true });
  const before = closed;
  // Which of them took the question shows in the connection that dies with it.
  for (const { child } of [first, second]) {
    child.kill('SIGKILL');
    const wasIt = await eventually(() => closed > before, 'the connection to close', 5_000).catch(() => false);
    if (wasIt) break;
  }
  await cluster.start('api', {}, settings);
  await eventually(async () => 'fetching' in (await convert(about)) && timesAsked('/held-2.png') === 2, 'it to be fetched again', 60_000);
  held.pop()?.end(picture.subarray(20));
  await eventually(async () => jobOf(await convert(about)), 'the source to be fetched');
  expect(jobOf(await ended(about))?.status).toBe('done');
});
