/** Messages at the ends of jobs, to servers of the test's own. */
import { createPublicKey, verify } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../../kit/api/assistant.ts';
import { type ReceivedMessage, type Receiver, startReceiver } from '../../kit/api/receiver.ts';
import { callTool } from '../../kit/api/tools.ts';
import { eventually } from '../../kit/api/wire.ts';
import { type Answer, convert, endProcess, readAnswer, type Service, startProcess, startService } from '../../kit/roles/service.ts';

const TABLE = { name: 'table.csv', bytes: Buffer.from('name,size\nkestrel,7\n') };
const SECRET = `whsec_${Buffer.from('a secret that only its client has').toString('base64')}`;

let receiver: Receiver;
let service: Service;
let later = 0;
const settings = ({ port }: Receiver) => ({
  fetch: { http: true, ports: [port, 80], allow: ['127.0.0.2/32'], headersMs: 2_000 },
  upkeep: { intervalMs: 100 },
  webhooks: { perSecond: 1_000 },
});

beforeAll(async () => {
  receiver = await startReceiver();
  service = await startService(settings(receiver), () => Date.now() + later);
});
afterAll(async () => {
  await service?.stop();
  await receiver?.close();
});

const send = (path: string, fields: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  convert(service.url, TABLE, 'tsv', { webhook_url: path.startsWith('/') ? receiver.url + path : path, ...fields });
const jobOf = async (id = ''): Promise<Answer['data'] & { readonly webhook?: Readonly<Record<string, unknown>> }> =>
  ((await (await fetch(`${service.url}/api/v1/jobs/${id}`)).json()) as { data: Awaited<ReturnType<typeof jobOf>> }).data;
const untilState = (id: string | undefined, state: string) =>
  eventually(async () => {
    const { webhook } = await jobOf(id);
    return webhook?.['state'] === state ? webhook : undefined;
  }, `the webhook to be ${state}`);
const untilSent = (path: string, count = 1) =>
  eventually(() => receiver.at(path).length >= count && receiver.at(path), `${count} messages at ${path}`);

function signedBy(publicKey: string, { headers, body }: ReceivedMessage): boolean {
  const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  const signatures = String(headers['webhook-signature']).split(' ');
  return signatures.some((each) => each.startsWith('v1a,') && verify(null, signed, key, Buffer.from(each.slice(4), 'base64')));
}

it('a job is sent when it ends, as its own address shows it, signed with the published key', async () => {
  const { data } = await send('/signed');
  await untilState(data?.job_id, 'delivered');
  const [message, ...more] = receiver.at('/signed');
  expect(more).toEqual([]);
  const { webhook, ...job } = await jobOf(data?.job_id);
  expect(webhook).toEqual({ state: 'delivered', attempts: 1, last_status: 200 });
  const body = JSON.parse(message?.body ?? '');
  expect(body).toEqual({ data: { ...job, webhook: { state: 'pending', attempts: 1 } } });
  expect(message?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': expect.stringMatching(/^msg_[0-9a-f]{32}$/) });
  const { data: found } = (await (await fetch(`${service.url}/api/v1/webhooks/keys`)).json()) as {
    data: { keys: { public_key: string }[] };
  };
  const [key] = found.keys;
  if (message === undefined || key === undefined) throw new Error('there is no message, or no key');
  expect(signedBy(key.public_key, message)).toBe(true);
  expect(signedBy(key.public_key, { ...message, body: `${message.body} ` })).toBe(false);
});

it("a client's own secret signs, as the reader of Standard Webhooks verifies, and stands in no answer and no file", async () => {
  const { data } = await send('/own?token=only-the-client-knows', { webhook_secret: SECRET });
  receiver.answer('/own?token=only-the-client-knows', 503);
  const [message] = await untilSent('/own?token=only-the-client-knows');
  const headers = Object.fromEntries(Object.entries(message?.headers ?? {}).map(([name, value]) => [name, String(value)]));
  expect(new Webhook(SECRET).verify(message?.body ?? '', headers)).toMatchObject({ data: { job_id: data?.job_id } });
  expect(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(message?.body ?? '', headers)).toThrow();
  const files = (await readdir(service.dataDir)).filter((name) => name.startsWith('filemill.db'));
  const stored = Buffer.concat(await Promise.all(files.map((name) => readFile(join(service.dataDir, name)))));
  for (const secret of ['only-the-client-knows', receiver.url, SECRET.slice(6)]) {
    expect(stored.includes(secret)).toBe(false);
    expect(JSON.stringify(await jobOf(data?.job_id))).not.toContain(secret);
  }
});

it('a message that failed is sent again under the same id, and 410 ends it', async () => {
  let answered = 0;
  receiver.answer('/flaky', (response) => response.writeHead(answered++ === 0 ? 500 : 200).end());
  receiver.answer('/gone', 410);
  const [flaky, gone] = await Promise.all([send('/flaky'), send('/gone')]);
  // The attempt has ended: from then on its pause counts.
  await eventually(async () => [500, 200].includes(Number((await jobOf(flaky.data?.job_id)).webhook?.['last_status'])), 'it has failed');
  await untilState(gone.data?.job_id, 'failed');
  later += 30_000;
  expect(await untilState(flaky.data?.job_id, 'delivered')).toEqual({ state: 'delivered', attempts: 2, last_status: 200 });
  const ids = receiver.at('/flaky').map(({ headers }) => headers['webhook-id']);
  expect([ids.length, new Set(ids).size, receiver.at('/gone').length]).toEqual([2, 1, 1]);
});

it('a server that does not answer, and a redirect, are failures that hold nothing up', async () => {
  receiver.answer('/silent', () => {});
  receiver.answer('/moved', (response) => response.writeHead(302, { location: `${receiver.url}/elsewhere` }).end());
  const [silent, moved] = await Promise.all([send('/silent'), send('/moved')]);
  await untilSent('/silent');
  await untilState((await send('/meanwhile')).data?.job_id, 'delivered');
  const last = (id: string | undefined, name: string) => eventually(async () => (await jobOf(id)).webhook?.[name], name);
  expect(await last(moved.data?.job_id, 'last_status')).toBe(302);
  expect(await last(silent.data?.job_id, 'last_error')).toBe('unreachable');
  expect(receiver.at('/elsewhere')).toEqual([]);
});

it('nothing is sent for a job that was deleted', async () => {
  receiver.answer('/deleted', 503);
  const { data } = await send('/deleted');
  await untilSent('/deleted');
  await fetch(data?.links.self ?? '', { method: 'DELETE' });
  later += 30_000;
  await untilState((await send('/after')).data?.job_id, 'delivered');
  expect(receiver.at('/deleted')).toHaveLength(1);
  expect(await (await fetch(`${service.url}/metrics`)).text()).toMatch(/^filemill_webhook_seconds_count\{outcome="delivered"\} \d+$/m);
});

it.each([
  ['this machine', 'http://127.0.0.1/hook?secret', 'URL_REFUSED', { reason: 'address', field: 'webhook_url' }],
  ['the service', '@service', 'URL_REFUSED', { reason: 'address' }],
  ['a private network', 'http://10.1.2.3/hook?secret', 'URL_REFUSED', { reason: 'address' }],
  ['an address in other clothes', 'http://[::ffff:169.254.169.254]/secret', 'URL_REFUSED', { reason: 'address' }],
  ['another scheme', 'ftp://127.0.0.2/secret', 'URL_REFUSED', { reason: 'scheme' }],
  ['another port', 'http://127.0.0.2:22/secret', 'URL_REFUSED', { reason: 'port' }],
  ['credentials', 'http://me:secret@127.0.0.2/', 'URL_REFUSED', { reason: 'credentials' }],
  ['a long URL', `http://127.0.0.2/secret${'a'.repeat(2_048)}`, 'INVALID_OPTION', { option: 'webhook_url', received: null }],
  ['a secret that is none', '/refused', 'INVALID_OPTION', { option: 'webhook_secret', received: null }],
])('%s is refused before anything is converted, and nothing of it is repeated', async (_, url, code, details) => {
  const answer = await send(
    url.replace('@service', `${service.url}/api/v1/convert?secret`),
    url === '/refused' ? { webhook_secret: 'whsec_secret' } : {},
  );
  expect(answer).toMatchObject({ status: 400, error: { code, details } });
  expect(JSON.stringify(answer.error).replaceAll('webhook_secret', '')).not.toContain('secret');
});

it('where nothing is fetched, or the operator wants none, there are no webhooks', async () => {
  const own = await startService({ fetch: { rest: false }, webhooks: { enabled: true } });
  try {
    const answer = await convert(own.url, TABLE, 'tsv', { webhook_url: 'https://hooks.example.org/' });
    expect(answer).toMatchObject({ status: 400, error: { code: 'INVALID_OPTION', details: { option: 'webhook_url' } } });
    expect((await fetch(`${own.url}/api/v1/webhooks/keys`)).status).toBe(404);
  } finally {
    await own.stop();
  }
});

it('a batch sends a message for each job, refused ones too; tools and assistants have webhooks as well', async () => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ to_format: 'tsv', webhook_url: `${receiver.url}/batch` })) form.set(name, value);
  form.append('files[]', new Blob([TABLE.bytes]), 'a.csv');
  form.append('files[]', new Blob([Buffer.from([0, 1, 2, 250, 3, 9])]), 'noise');
  await readAnswer(await fetch(`${service.url}/api/v1/batch`, { method: 'POST', body: form }));
  const bodies = (await untilSent('/batch', 2)).map(({ body }) => JSON.parse(body) as { data: { status: string }; error?: object });
  expect(bodies.map(({ data, error }) => [data.status, error !== undefined]).sort()).toEqual([
    ['done', false],
    ['error', true],
  ]);
  const picture = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  const turned = { img_rotate: 'flip-h', webhook_url: `${receiver.url}/tool` };
  expect(await callTool(service, 'rotate-image', { name: 'a.png', bytes: picture }, turned)).toMatchObject({ data: { status: 'done' } });
  await untilSent('/tool');
  const { isError } = await call(service.url, 'convert_file', {
    file: TABLE.bytes.toString('base64'),
    filename: 'b.csv',
    to_format: 'tsv',
    webhook_url: `${receiver.url}/assistant`,
  });
  expect(isError ?? false).toBe(false);
  await untilSent('/assistant');
});

it('a message survives kill -9 of the service, between two attempts and in the middle of one; the log has neither URL nor secret', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'filemill-webhooks-'));
  await chmod(dataDir, 0o755);
  const fields = { webhook_secret: SECRET, to_format: 'tsv' };
  receiver.answer('/killed?between', 503);
  receiver.answer('/killed?within', () => {});
  const first = await startProcess(dataDir, settings(receiver), { LOG_LEVEL: 'trace' });
  for (const path of ['/killed?between', '/killed?within']) {
    await convert(first.url, TABLE, 'tsv', { ...fields, webhook_url: receiver.url + path });
    await untilSent(path);
  }
  await eventually(() => first.lines.some((line) => line.includes('"outcome":"again"')), 'the first attempt to have ended');
  await endProcess(first, 'SIGKILL');
  receiver.answer('/killed?between', 200);
  receiver.answer('/killed?within', 200);
  const second = await startProcess(dataDir, settings(receiver), { LOG_LEVEL: 'trace' });
  try {
    await untilSent('/killed?between', 2);
    await untilSent('/killed?within', 2);
  } finally {
    await endProcess(second);
    await rm(dataDir, { recursive: true, force: true });
  }
  const log = [...first.lines, ...second.lines].join('\n');
  for (const secret of [receiver.url, 'killed?', SECRET.slice(6)]) expect(log).not.toContain(secret);
});
