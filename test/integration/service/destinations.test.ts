/** Results that are stored where clients want them, on servers of the test's own. */
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, post } from '../../kit/api/assistant.ts';
import { type Receiver, startReceiver } from '../../kit/api/receiver.ts';
import { eventually } from '../../kit/api/wire.ts';
import { freePort } from '../../kit/exec/ports.ts';
import {
  type Answer,
  convert,
  endProcess,
  readAnswer,
  type Service,
  spawnService,
  startProcess,
  startService,
} from '../../kit/roles/service.ts';

const TABLE = { name: 'table.csv', bytes: Buffer.from('name,size\nkestrel,7\n') };
const RESULT = 'name\tsize\nkestrel\t7\n';
const LATER = { prefer: 'respond-async' };

let receiver: Receiver;
let service: Service;
const settings = ({ port }: Receiver) => ({
  fetch: { http: true, ports: [port, 80], allow: ['127.0.0.2/32'], headersMs: 2_000, idleMs: 2_000 },
  upkeep: { intervalMs: 100 },
  destinations: { perSecond: 1_000 },
});

beforeAll(async () => {
  receiver = await startReceiver();
  service = await startService(settings(receiver));
});
afterAll(async () => {
  await service?.stop();
  await receiver?.close();
});

const send = (path: string, fields: Readonly<Record<string, string>> = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  convert(service.url, TABLE, 'tsv', { output_url: path.startsWith('/') ? receiver.url + path : path, ...fields }, headers);
const jobOf = async (id = ''): Promise<Answer> => readAnswer(await fetch(`${service.url}/api/v1/jobs/${id}`));
const untilEnded = (id: string | undefined) =>
  eventually(async () => {
    const answer = await jobOf(id);
    return answer.data?.status === 'processing' ? undefined : answer;
  }, 'the end of the job');

it('a result is stored by one PUT with its length and type before the job is done, and can be read here as well', async () => {
  const { data } = await send('/stored?signature=1', { output_headers: '{"X-Amz-Meta-From":"filemill","Content-Type":"text/plain"}' });
  expect(data).toMatchObject({ status: 'done', destination: { state: 'stored', attempts: 1, last_status: 200 } });
  const [put, ...more] = receiver.at('/stored?signature=1');
  expect([put?.body, more]).toEqual([RESULT, []]);
  expect(put?.headers).toMatchObject({
    'content-length': String(RESULT.length),
    'content-type': 'text/plain',
    'x-amz-meta-from': 'filemill',
  });
  expect(put?.headers).not.toHaveProperty('transfer-encoding');
  expect(await (await fetch(data?.output?.url ?? '')).text()).toBe(RESULT);
  await send('/typed');
  expect(receiver.at('/typed')[0]?.headers['content-type']).toBe('text/tab-separated-values');
});

it('a job whose result waits for its place is still processing, and its result is not shown before', async () => {
  const held: ServerResponse[] = [];
  receiver.answer('/held', (response) => void held.push(response));
  const { data } = await send('/held', {}, LATER);
  await eventually(() => held.length > 0, 'the result to be sent');
  const { data: seen } = await jobOf(data?.job_id);
  expect(seen).toMatchObject({ status: 'processing', destination: { state: 'pending', attempts: 1 } });
  expect(seen).not.toHaveProperty('output');
  expect((await fetch(`${service.url}/api/v1/jobs/${data?.job_id}/output`)).status).toBe(409);
  const resource = { uri: `${service.url}/api/v1/jobs/${data?.job_id}/output` };
  const read = await post(service.url, { jsonrpc: '2.0', id: 1, method: 'resources/read', params: resource });
  expect(read.body?.error?.data?.code).toBe('JOB_NOT_READY');
  held[0]?.writeHead(201).end();
  expect((await untilEnded(data?.job_id)).data).toMatchObject({ status: 'done', destination: { state: 'stored', last_status: 201 } });
});

it.each([
  ['a refusal', '/forbidden', 403, 403],
  ['a redirect, which is not followed', '/moved', (to: ServerResponse) => to.writeHead(307, { location: '/elsewhere' }).end(), 307],
])('%s fails the job at once with that status, and its result is removed', async (_, path, as, status) => {
  receiver.answer(path, as);
  const { status: answered, error, data } = await send(path);
  expect({ answered, error }).toMatchObject({
    answered: 424,
    error: { code: 'OUTPUT_NOT_STORED', details: { status, attempts: 1, retryable: false } },
  });
  expect(data).toMatchObject({ status: 'error', destination: { state: 'failed', last_status: status } });
  expect(receiver.at(path)).toHaveLength(1);
  expect(receiver.at('/elsewhere')).toEqual([]);
  const id = String(error?.details['job_id']);
  expect((await fetch(`${service.url}/api/v1/jobs/${id}/output`)).status).toBe(424);
  await eventually(
    async () => (await readdir(service.dataDir, { recursive: true })).every((name) => !name.includes(id)),
    'no file is left',
  );
});

it('what may pass is tried again; an answer without end is not read', async () => {
  let answered = 0;
  receiver.answer('/flaky', (response) => response.writeHead(answered++ === 0 ? 503 : 200).end());
  receiver.answer('/endless', (response) => {
    const pour = setInterval(() => response.write(Buffer.alloc(65_536)), 1);
    response.on('close', () => clearInterval(pour));
  });
  const [flaky, endless] = await Promise.all([send('/flaky', {}, LATER), send('/endless', {}, LATER)]);
  expect((await untilEnded(endless.data?.job_id)).data).toMatchObject({ status: 'done' });
  expect((await untilEnded(flaky.data?.job_id)).data).toMatchObject({ status: 'done', destination: { attempts: 2, last_status: 200 } });
  expect(receiver.at('/flaky').map(({ body }) => body)).toEqual([RESULT, RESULT]);
});

it('a job that is deleted while its result is sent, or waits to be sent again, ends the connection, and no other attempt follows', async () => {
  let isClosed = false;
  receiver.answer('/deleted', (response) => {
    response.on('close', () => {
      isClosed = true;
    });
  });
  const { data } = await send('/deleted', {}, LATER);
  await eventually(() => receiver.at('/deleted').length > 0, 'the result to be sent');
  await fetch(data?.links.self ?? '', { method: 'DELETE' });
  await eventually(() => isClosed, 'the connection to be closed');
  receiver.answer('/between', 503);
  const between = await send('/between', {}, LATER);
  await eventually(
    async () => JSON.stringify((await jobOf(between.data?.job_id)).data).includes('"last_status":503'),
    'the first attempt to end',
  );
  await fetch(between.data?.links.self ?? '', { method: 'DELETE' });
  // Its second attempt comes later than those of the others would have come.
  let asked = 0;
  receiver.answer('/witness', (response) => response.writeHead(asked++ === 0 ? 503 : 200, { 'retry-after': '3' }).end());
  const witness = await send('/witness', {}, LATER);
  expect((await untilEnded(witness.data?.job_id)).data).toMatchObject({ status: 'done', destination: { attempts: 2 } });
  expect([receiver.at('/deleted').length, receiver.at('/between').length]).toEqual([1, 1]);
  expect(await (await fetch(`${service.url}/metrics`)).text()).toMatch(/^filemill_destination_seconds_count\{outcome="stored"\} \d+$/m);
});

it.each([
  ['this machine', 'http://127.0.0.1/put?secret', 'URL_REFUSED', { reason: 'address', field: 'output_url' }],
  ['the service', '@service', 'URL_REFUSED', { reason: 'address' }],
  ['an address in other clothes', 'http://[::ffff:169.254.169.254]/secret', 'URL_REFUSED', { reason: 'address' }],
  ['another scheme', 'ftp://127.0.0.2/secret', 'URL_REFUSED', { reason: 'scheme' }],
  ['another port', 'http://127.0.0.2:22/secret', 'URL_REFUSED', { reason: 'port' }],
  ['credentials', 'http://me:secret@127.0.0.2/', 'URL_REFUSED', { reason: 'credentials' }],
  ['a long URL', `http://127.0.0.2/secret${'a'.repeat(3_072)}`, 'INVALID_OPTION', { option: 'output_url', received: null }],
])('%s is refused before anything is converted, and nothing of it is repeated', async (_, url, code, details) => {
  const answer = await send(url.replace('@service', `${service.url}/api/v1/convert?secret`));
  expect(answer).toMatchObject({ status: 400, error: { code, details } });
  expect(JSON.stringify(answer.error)).not.toContain('secret');
});

it.each([
  ['no JSON', 'x-secret: 1'],
  ['a list', '["secret"]'],
  ['a value that is no text', '{"x-secret":1}'],
  ['a line break', '{"x-a":"1\\r\\nsecret: 2"}'],
  ['a name that is none', '{"x secret":"1"}'],
  ['a header of the request itself', '{"Content-Length":"0"}'],
  ['too much', `{"x-a":"${'secret'.repeat(200)}"}`],
])('headers with %s are refused', async (_, headers) => {
  const answer = await send('/headers', { output_headers: headers });
  expect(answer).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 'output_headers', received: null } } });
  expect(JSON.stringify(answer.error)).not.toContain('secret');
});

it('a batch of one file has a result to store, one of several is refused; recipes and assistants have destinations as well', async () => {
  const batch = async (count: number) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ to_format: 'tsv', output_url: `${receiver.url}/batch` })) form.set(name, value);
    for (let n = 0; n < count; n++) form.append('files[]', new Blob([TABLE.bytes]), `${n}.csv`);
    return readAnswer(await fetch(`${service.url}/api/v1/batch`, { method: 'POST', body: form }));
  };
  expect(await batch(2)).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 'output_url' } } });
  expect(receiver.at('/batch')).toEqual([]);
  await batch(1);
  await eventually(() => receiver.at('/batch').length > 0, 'the result of the batch');
  const form = new FormData();
  form.set('recipe', JSON.stringify({ steps: [{ name: 'a', do: 'convert', from: ['files'], options: { to_format: 'tsv' } }] }));
  form.set('output_url', `${receiver.url}/recipe`);
  form.append('files[]', new Blob([TABLE.bytes]), 'a.csv');
  const recipe = await readAnswer(await fetch(`${service.url}/api/v1/recipes/run`, { method: 'POST', body: form }));
  expect(recipe).toMatchObject({ data: { status: 'done', destination: { state: 'stored' } } });
  expect(receiver.at('/recipe')[0]?.body).toBe(RESULT);
  const { isError } = await call(service.url, 'convert_file', {
    file: TABLE.bytes.toString('base64'),
    filename: 'b.csv',
    to_format: 'tsv',
    output_url: `${receiver.url}/assistant`,
  });
  expect([isError ?? false, receiver.at('/assistant')[0]?.body]).toEqual([false, RESULT]);
});

it('a result survives kill -9 of the service in the middle of an attempt; neither the store nor the log has URL or headers', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-destinations-'));
  await chmod(dataDir, 0o755);
  receiver.answer('/killed?token', () => {});
  const fields = { output_url: `${receiver.url}/killed?token`, output_headers: '{"x-own":"only-the-client-knows"}' };
  const first = await startProcess(dataDir, settings(receiver), { LOG_LEVEL: 'trace' });
  const { data } = await convert(first.url, TABLE, 'tsv', fields, LATER);
  await eventually(() => receiver.at('/killed?token').length > 0, 'the first attempt');
  await endProcess(first, 'SIGKILL');
  const files = (await readdir(dataDir)).filter((name) => name.startsWith('filemill.db'));
  const stored = Buffer.concat(await Promise.all(files.map((name) => readFile(join(dataDir, name)))));
  receiver.answer('/killed?token', 200);
  const second = await startProcess(dataDir, settings(receiver), { LOG_LEVEL: 'trace' });
  try {
    const read = async () => readAnswer(await fetch(`${second.url}/api/v1/jobs/${data?.job_id}`));
    const ended = await eventually(async () => {
      const answer = await read();
      return answer.data?.status === 'done' ? answer : undefined;
    }, 'the job to be done');
    expect(ended.data).toMatchObject({ destination: { state: 'stored', attempts: 2 } });
    expect(receiver.at('/killed?token').map(({ body }) => body)).toEqual([RESULT, RESULT]);
    expect(JSON.stringify(ended)).not.toMatch(/killed|only-the-client-knows/);
  } finally {
    await endProcess(second);
    await rm(dataDir, { recursive: true, force: true });
  }
  const log = [...first.lines, ...second.lines].join('\n');
  for (const secret of [receiver.url, 'killed?', 'only-the-client-knows']) {
    expect(log).not.toContain(secret);
    expect(stored.includes(secret)).toBe(false);
  }
});

it('a result whose sending kills the service three times is given up, and said so', { timeout: 240_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-destinations-'));
  await chmod(dataDir, 0o755);
  receiver.answer('/deadly', () => {});
  let jobId = '';
  for (let deaths = 0; deaths < 3; deaths++) {
    const service = await startProcess(dataDir, settings(receiver));
    if (deaths === 0)
      jobId = (await convert(service.url, TABLE, 'tsv', { output_url: `${receiver.url}/deadly` }, LATER)).data?.job_id ?? '';
    await eventually(() => receiver.at('/deadly').length > deaths, 'an attempt');
    await endProcess(service, 'SIGKILL');
  }
  const last = await startProcess(dataDir, settings(receiver));
  try {
    const ended = await eventually(async () => {
      const answer = await readAnswer(await fetch(`${last.url}/api/v1/jobs/${jobId}`));
      return answer.error === undefined ? undefined : answer;
    }, 'the job to end');
    expect(ended.error).toMatchObject({ code: 'OUTPUT_NOT_STORED', details: { store_error: 'crashed', attempts: 3, retryable: true } });
    expect(receiver.at('/deadly')).toHaveLength(3);
  } finally {
    await endProcess(last);
    await rm(dataDir, { recursive: true, force: true });
  }
});

it('the service itself is no place for results or messages, whatever its name: its public URL, or its port on this machine', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-destinations-'));
  await chmod(dataDir, 0o755);
  const port = await freePort();
  const fetching = { http: true, ports: [port, 443], allow: ['127.0.0.0/8', '::/0', '0.0.0.0/0'] };
  const environment = { PORT: String(port), PUBLIC_URL: 'https://files.example.org/mill' };
  const one = { ...(await spawnService(dataDir, { fetch: fetching }, environment)), url: `http://127.0.0.1:${port}` };
  const login = (endpoint: string) => JSON.stringify({ endpoint, access_key_id: 'a', secret_access_key: 'b' });
  try {
    const isServing = () =>
      fetch(`${one.url}/api/v1/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    await eventually(isServing, 'the service');
    for (const own of [
      'https://files.example.org',
      ...['127.0.0.7', 'localhost', '[::1]', hostname()].map((host) => `http://${host}:${port}`),
    ])
      for (const fields of [
        { output_url: `${own}/put` },
        { output_url: 's3://bucket/a.tsv', s3: login(own) },
        { webhook_url: `${own}/hook` },
      ])
        expect([own, await convert(one.url, TABLE, 'tsv', fields)]).toMatchObject([
          own,
          { status: 400, error: { code: 'URL_REFUSED', details: { reason: 'address', field: Object.keys(fields)[0] } } },
        ]);
  } finally {
    await endProcess(one);
    await rm(dataDir, { recursive: true, force: true });
  }
});
