/** The storer over a real store and to real servers: who sends, when, and what is left. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { s3Places } from '../../../src/destinations/places.ts';
import { putWith } from '../../../src/destinations/put.ts';
import { destinationSettings } from '../../../src/destinations/settings.ts';
import { type Storer, type StoringOutcome, startStorer } from '../../../src/destinations/storer.ts';
import { addressJudge } from '../../../src/fetch/address.ts';
import { directConnector } from '../../../src/fetch/direct-connector.ts';
import { guardedSender } from '../../../src/fetch/send.ts';
import { fetchSettings } from '../../../src/fetch/settings.ts';
import { newDestination } from '../../../src/jobs/destination.ts';
import { encryptionWith } from '../../../src/jobs/encryption.ts';
import { cancel } from '../../../src/jobs/lifecycle.ts';
import { openSqliteJobs } from '../../../src/jobs/sqlite/jobs.ts';
import type { JobStore, Stored } from '../../../src/jobs/store.ts';
import { Missing, Unreachable } from '../../../src/objects/store.ts';
import { nextAction } from '../../../src/upkeep/decide.ts';
import { aRecord, START } from '../../conformance/samples.ts';
import { type Receiver, startReceiver } from '../../kit/api/receiver.ts';
import { eventually } from '../../kit/api/wire.ts';

const BYTES = 3 << 20;
const encryption = encryptionWith(['the first key of this test, long enough'], 'salt');
let receiver: Receiver;
/** Refuses by the headers, as stores do, and reads nothing. */
let refusing: Server;
/** Takes connections, and reads nothing. */
let deaf: ReturnType<typeof createTcpServer>;
let folder: string;
let jobs: JobStore;
const now = START;
const outcomes: StoringOutcome[] = [];
const log: string[] = [];
const started: Storer[] = [];
/** What reading the result does. */
let broken: Error | 'while it is read' | undefined;

beforeAll(async () => {
  receiver = await startReceiver();
  refusing = createServer().on('checkContinue', (_, response) => response.writeHead(403).end());
  deaf = createTcpServer((socket) => void socket.pause().on('error', () => {}));
  for (const server of [refusing, deaf]) await once(server.listen(0, '127.0.0.2'), 'listening');
  folder = await mkdtemp(join(tmpdir(), 'filemill-storer-'));
  jobs = openSqliteJobs(join(folder, 'jobs.db'), () => now);
});
afterAll(async () => {
  await Promise.all(started.map((each) => each.stop()));
  await jobs.close();
  await receiver.close();
  refusing.close();
  deaf.close();
  await rm(folder, { recursive: true });
});

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

function start({ idleMs = 300, ...wanted }: { readonly idleMs?: number; readonly uploadMs?: number } = {}): Storer {
  const ports = [receiver.port, portOf(refusing), portOf(deaf)];
  const fetching = fetchSettings.parse({ http: true, ports, allow: ['127.0.0.2/32'], headersMs: 300, idleMs });
  const resolve = async (name: string) => [name === 'private.test' ? '127.0.0.1' : '127.0.0.2'];
  const connector = directConnector(fetching, { resolve, judge: addressJudge(fetching) });
  const note = (about: object, says: string) => void log.push(JSON.stringify([about, says]));
  const settings = destinationSettings.parse({ perSecond: 1_000, ...wanted });
  const get = async () => {
    if (broken instanceof Error) throw broken;
    return broken !== undefined
      ? new Readable({ read: () => {}, construct: (done) => done(new Error('the disk has failed')) })
      : Readable.from(Array.from({ length: 48 }, () => Buffer.alloc(BYTES / 48, 7)));
  };
  const storer = startStorer({
    jobs,
    encryption,
    put: putWith(guardedSender(fetching, connector), { get }, s3Places({}), settings),
    hostOf: ({ url }) => URL.parse(url)?.hostname ?? '',
    ended: () => {},
    onCancel: () => () => {},
    settings,
    clock: () => now,
    random: () => 0.5,
    log: { info: note, warn: note } as Parameters<typeof startStorer>[0]['log'],
    onAttempt: (outcome) => void outcomes.push(outcome),
    onEnd: () => {},
  });
  started.push(storer);
  return storer;
}

/** A job whose conversion has ended. */
async function aStoring(path: string, host = '127.0.0.2', port = receiver.port): Promise<Stored> {
  const record = aRecord();
  const target = { url: `http://${host}:${port}${path}`, headers: {}, client: 'c' };
  const output = { key: `jobs/${record.id}/out`, filename: 'a.bin', sizeBytes: BYTES, contentType: 'image/png', sha256: '', files: 1 };
  return jobs.create({ ...record, state: 'storing', queuedAt: now, output, destination: newDestination(encryption, record.id, target) });
}
const recordOf = async ({ record: { id } }: Stored) => (await jobs.get(id))?.record;
const until = (stored: Stored, state: string) =>
  eventually(async () => {
    const record = await recordOf(stored);
    const { state: is, nextAt = 0 } = record?.destination ?? {};
    return is === state && (state !== 'pending' || (nextAt !== 0 && nextAt < now + 60_000)) ? record : undefined;
  }, `the destination to be ${state}`);

it('a result is sent once, though two storers are offered it at the same time, and nothing encrypted is left', async () => {
  const [one, other] = [start(), start()];
  const stored = await aStoring('/once');
  one.follow(stored.record.id);
  other.follow(stored.record.id);
  for (const storer of [one, other]) storer.offer(stored);
  expect(await until(stored, 'stored')).toMatchObject({ state: 'done', destination: { attempts: 1, lastStatus: 200 } });
  expect((await recordOf(stored))?.destination?.sealed).toBeUndefined();
  expect(receiver.at('/once').map(({ body }) => body.length)).toEqual([BYTES]);
});

it('a refusal by the headers is read, and nothing of the file is sent', async () => {
  const stored = await aStoring('/', 'refuses.test', portOf(refusing));
  start().offer(stored);
  expect(await until(stored, 'failed')).toMatchObject({
    state: 'error',
    failure: { reason: 'output_not_stored', details: { status: 403, attempts: 1 } },
  });
  expect((await recordOf(stored))?.output).toBeUndefined();
});

it.each([
  ['a name of this machine', 'private.test', () => receiver.port, 'failed', { lastError: 'address' }],
  ['a server that reads nothing', 'deaf.test', () => portOf(deaf), 'pending', { lastError: 'unreachable' }],
])(
  '%s',
  async (_, host, port, state, last) => {
    const stored = await aStoring('/', host, port());
    start().offer(stored);
    expect(await until(stored, state)).toMatchObject({ destination: { attempts: 1, ...last } });
  },
  20_000,
);

it('an attempt ends after its time, whatever its server does', async () => {
  receiver.answer('/slow', () => {});
  const stored = await aStoring('/slow', 'slow.test');
  const begun = performance.now();
  start({ idleMs: 60_000, uploadMs: 1_000 }).offer(stored);
  expect(await until(stored, 'pending')).toMatchObject({ destination: { attempts: 1, lastError: 'unreachable' } });
  expect(performance.now() - begun).toBeGreaterThan(900);
}, 30_000);

it.each([
  ['breaks off', 'while it is read', 'pending', 'unavailable'],
  ['cannot be opened', new Unreachable('the object store did not read an object'), 'pending', 'unavailable'],
  ['is gone', new Missing('no such object'), 'failed', 'missing'],
] as const)('a file that %s is our own trouble, and tried again where that may help', async (_, how, state, lastError) => {
  broken = how;
  try {
    const stored = await aStoring('/broken');
    start().offer(stored);
    expect(await until(stored, state)).toMatchObject({ destination: { attempts: 1, lastError } });
  } finally {
    broken = undefined;
  }
});

it('nothing is sent for a job that was deleted, and an attempt that a stop interrupts is due at once for the next process', async () => {
  const deleted = await aStoring('/deleted');
  await jobs.update(cancel(deleted.record, now), deleted.revision);
  const storer = start();
  storer.offer(deleted);
  receiver.answer('/held', () => {});
  const held = await aStoring('/held');
  storer.offer(held);
  await eventually(() => receiver.at('/held').length > 0, 'the result to be under way');
  await storer.stop();
  expect((await recordOf(held))?.destination).toMatchObject({ state: 'pending', nextAt: now, lastError: 'interrupted' });
  expect(receiver.at('/deleted')).toEqual([]);
});

it('upkeep leaves a result alone that waits for its place, and fails its job when no process can send it', async () => {
  const { record } = await aStoring('/never');
  const seen = { record, hasOrder: false, keys: undefined, queueMs: 1, aloneSince: undefined };
  expect(nextAction({ ...seen, now: now + 60_000 })).toEqual({ do: 'wait' });
  const action = nextAction({ ...seen, now: now + 7 * 3_600_000 });
  expect(action).toMatchObject({ do: 'fail', failed: { state: 'error', failure: { reason: 'output_not_stored' } } });
  expect(JSON.stringify(action)).not.toContain('sealed');
});

it('no log line has a URL, and each attempt was counted', () => {
  expect(log.join('\n')).not.toMatch(/127\.0\.0|\.test|\/once/);
  expect(new Set(outcomes)).toEqual(new Set(['stored', 'failed', 'again']));
});
