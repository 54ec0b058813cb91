/** The deliverer over a real store and to real servers: who sends, when, and what is left. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addressJudge } from '../../../src/fetch/address.ts';
import { directConnector } from '../../../src/fetch/direct-connector.ts';
import { guardedSender } from '../../../src/fetch/send.ts';
import { fetchSettings } from '../../../src/fetch/settings.ts';
import { encryptionWith } from '../../../src/jobs/encryption.ts';
import { cancel, fail } from '../../../src/jobs/lifecycle.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import type { JobStore, Stored } from '../../../src/jobs/store.ts';
import { newWebhook } from '../../../src/jobs/webhook.ts';
import { type Deliverer, startDeliverer, type WebhookOutcome } from '../../../src/webhooks/deliverer.ts';
import { webhookSettings } from '../../../src/webhooks/settings.ts';
import { signingKeys } from '../../../src/webhooks/signing.ts';
import { aRecord, START } from '../../conformance/samples.ts';
import { type Receiver, startReceiver } from '../../kit/api/receiver.ts';
import { eventually } from '../../kit/api/wire.ts';

const encryption = encryptionWith(['the first key of this test, long enough'], 'salt');
const FAILURE = { reason: 'internal', message: '', details: {} };
let receiver: Receiver;
let folder: string;
let jobs: JobStore;
let now = START;
const outcomes: WebhookOutcome[] = [];
const log: string[] = [];
const started: Deliverer[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  folder = await mkdtemp(join(tmpdir(), 'filemill-deliverer-'));
  jobs = openSqliteJobs(join(folder, 'jobs.db'), () => now);
});
afterAll(async () => {
  await Promise.all(started.map((each) => each.stop()));
  await jobs.close();
  await receiver.close();
  await rm(folder, { recursive: true });
});

function start(settings: object = {}): Deliverer {
  const fetching = fetchSettings.parse({ http: true, ports: [receiver.port], allow: ['127.0.0.2/32'], headersMs: 2_000 });
  // `moves.test` is public when it is asked for first, and this machine from then on.
  let asked = 0;
  const resolve = async (name: string) => [name === 'private.test' || (name === 'moves.test' && asked++ > 0) ? '127.0.0.1' : '127.0.0.2'];
  const connector = directConnector(fetching, { resolve, judge: addressJudge(fetching) });
  const note = (about: object, says: string) => void log.push(JSON.stringify([about, says]));
  const deliverer = startDeliverer({
    jobs,
    encryption,
    sender: guardedSender(fetching, connector),
    keys: signingKeys(encryption),
    body: async ({ id, state }, base) => ({ data: { job_id: id, status: state, base } }),
    settings: webhookSettings.parse({ perSecond: 1_000, ...settings }),
    clock: () => now,
    random: () => 0.5,
    log: { info: note, warn: note } as Parameters<typeof startDeliverer>[0]['log'],
    onAttempt: (outcome) => void outcomes.push(outcome),
  });
  started.push(deliverer);
  return deliverer;
}

/** A job with a webhook, not ended yet. */
async function aJob(path: string, host = '127.0.0.2'): Promise<Stored> {
  const record = aRecord();
  const url = `http://${host}:${receiver.port}${path}`;
  return jobs.create({
    ...record,
    webhook: newWebhook(encryption, record.id, `msg_${record.id}`, { url, client: 'c', base: 'https://f.example' }),
  });
}
const ended = async ({ record, revision }: Stored): Promise<Stored> => jobs.update(fail(record, now, FAILURE), revision);
const stateOf = async ({ record: { id } }: Stored) => (await jobs.get(id))?.record.webhook;
const untilState = (stored: Stored, state: string) =>
  eventually(async () => {
    const webhook = await stateOf(stored);
    return webhook?.state === state && (state !== 'pending' || webhook.nextAt < now + 60_000) ? webhook : undefined;
  }, `the webhook to be ${state}`);

it('a job that is followed is sent once, though two deliverers are offered it at the same time', async () => {
  const [one, other] = [start(), start()];
  const job = await aJob('/once');
  one.follow(job.record.id);
  other.follow(job.record.id);
  const end = await ended(job);
  for (const deliverer of [one, other]) deliverer.offer(end);
  expect(await untilState(job, 'delivered')).toMatchObject({ attempts: 1, lastStatus: 200 });
  expect((await stateOf(job))?.sealed).toBeUndefined();
  const messages = receiver.at('/once').map(({ body }) => JSON.parse(body) as object);
  expect(messages).toEqual([{ data: { job_id: job.record.id, status: 'error', base: 'https://f.example' } }]);
});

it.each([
  ['a name of this machine', '/private', 'private.test', 'failed', { lastError: 'address' }],
  ['a server that does not answer', '/silent', 'silent.test', 'pending', { lastError: 'unreachable' }],
  ['a redirect', '/redirect', 'redirect.test', 'pending', { lastStatus: 307 }],
  ['an answer without end', '/endless', 'endless.test', 'delivered', { lastStatus: 200 }],
])('%s', async (_, path, host, state, last) => {
  receiver.answer('/silent', () => {});
  receiver.answer('/redirect', (response) => response.writeHead(307, { location: '/elsewhere' }).end());
  receiver.answer('/endless', (response) => {
    const pour = setInterval(() => response.write(Buffer.alloc(65_536)), 1);
    response.on('close', () => clearInterval(pour));
  });
  const job = await aJob(path, host);
  start().offer(await ended(job));
  expect(await untilState(job, state)).toMatchObject({ attempts: 1, ...last });
  expect(receiver.at('/elsewhere')).toEqual([]);
});

it('a name that turns to this machine between two attempts is not reached', async () => {
  receiver.answer('/moves', 500);
  const job = await aJob('/moves', 'moves.test');
  const deliverer = start();
  deliverer.offer(await ended(job));
  await untilState(job, 'pending');
  now += 10_000;
  const again = await jobs.get(job.record.id);
  if (again !== undefined) deliverer.offer(again);
  expect(await untilState(job, 'failed')).toMatchObject({ attempts: 2, lastError: 'address' });
  expect(receiver.at('/moves')).toHaveLength(1);
});

it('nothing is sent for a job that is deleted while its message waits for its turn', async () => {
  receiver.answer('/first', () => {});
  const [first, second] = [await aJob('/first'), await aJob('/second')];
  const deliverer = start({ perHost: 1 });
  deliverer.offer(await ended(first));
  const end = await ended(second);
  deliverer.offer(end);
  await jobs.update(cancel(end.record, now), end.revision);
  await untilState(first, 'pending');
  const third = await aJob('/third');
  deliverer.offer(await ended(third));
  await untilState(third, 'delivered');
  expect(receiver.at('/second')).toEqual([]);
});

it('a message of an expired job is given up, and one that is interrupted by a stop is due at once for the next process', async () => {
  const late = await ended(await aJob('/late'));
  now = late.record.expiresAt + 1;
  start().offer(late);
  await untilState(late, 'failed');
  expect(receiver.at('/late')).toEqual([]);

  receiver.answer('/held', () => {});
  const held = await ended(
    await aJob('/held').then(({ record, revision }) => jobs.update({ ...record, expiresAt: now + 3_600_000 }, revision)),
  );
  const stopping = start();
  stopping.offer(held);
  await eventually(() => receiver.at('/held').length > 0, 'the message to be under way');
  await stopping.stop();
  expect(await stateOf(held)).toMatchObject({ state: 'pending', nextAt: now, lastError: 'interrupted' });
});

it('no log line has a URL, and each attempt was counted', () => {
  expect(log.join('\n')).not.toMatch(/127\.0\.0|\.test|\/once/);
  expect(new Set(outcomes)).toEqual(new Set(['delivered', 'failed', 'again']));
});
