/** The storer over a real store and to real servers: who sends, when, and what is left. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { s3Places } from '../../../src/destinations/places.ts';
import { putWith } from '../../../src/destinations/put.ts';
import { destinationSettings } from '../../../src/destinations/settings.ts';
import { type Storer, type StoringOutcome, startStorer } from '../../../src/destinations/storer.ts';
import { addressJudge } from '../../../src/fetch/address.ts';
import { directConnector } from '../../../src/fetch/direct-connector.ts';
import { guardedSender } from '../../../src/fetch/send.ts';
import { fetchSettings } from '../../../src/fetch/settings.ts';
import { claimStoring, newDestination } from '../../../src/jobs/destination.ts';
import { type Encryption, encryptionWith } from '../../../src/jobs/encryption.ts';
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
/** Reads 64 KiB every 5 ms at most. */
let sluggish: ReturnType<typeof createTcpServer>;
let folder: string;
let jobs: JobStore;
let now = START;
const outcomes: StoringOutcome[] = [];
const log: string[] = [];
const started: Storer[] = [];
/** What reading the result does. */
let broken: Error | 'while it is read' | undefined;

beforeAll(async () => {
  receiver = await startReceiver();
  refusing = createServer().on('checkContinue', (_, response) => response.writeHead(403).end());
  deaf = createTcpServer((socket) => void socket.pause().on('error', () => {}));
  sluggish = createTcpServer({ highWaterMark: 65_536, pauseOnConnect: true }, (socket) => {
    socket.write('HTTP/1.1 100 Continue\r\n\r\n');
    const timer = setInterval(() => socket.read(), 5);
    socket.on('error', () => {}).on('close', () => clearInterval(timer));
  });
  for (const server of [refusing, deaf, sluggish]) await once(server.listen(0, '127.0.0.2'), 'listening');
  folder = await mkdtemp(join(tmpdir(), 'filemill-storer-'));
  jobs = openSqliteJobs(join(folder, 'jobs.db'), () => now);
});
afterAll(async () => {
  await Promise.all(started.map((each) => each.stop()));
  await jobs.close();
  await receiver.close();
  refusing.close();
  deaf.close();
  sluggish.close();
  await rm(folder, { recursive: true });
});

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

interface Started {
  readonly idleMs?: number;
  readonly minBytesPerSecond?: number;
  readonly uploadMs?: number;
  /** Bytes of the result. */
  readonly bytes?: number;
  readonly isEnabled?: boolean;
  readonly known?: Encryption;
}

function start({
  idleMs = 2_000,
  minBytesPerSecond = 0,
  bytes = BYTES,
  isEnabled = true,
  known = encryption,
  ...wanted
}: Started = {}): Storer {
  const ports = [receiver.port, portOf(refusing), portOf(deaf), portOf(sluggish)];
  const fetching = fetchSettings.parse({ http: true, ports, allow: ['127.0.0.2/32'], headersMs: 2_000, idleMs, minBytesPerSecond });
  const resolve = async (name: string) => [name === 'private.test' ? '127.0.0.1' : '127.0.0.2'];
  const connector = directConnector(fetching, { resolve, judge: addressJudge(fetching) });
  const note = (about: object, says: string) => void log.push(JSON.stringify([about, says]));
  const settings = destinationSettings.parse({ perSecond: 1_000, ...wanted });
  const get = async () => {
    if (broken instanceof Error) throw broken;
    return broken !== undefined
      ? new Readable({ read: () => {}, construct: (done) => done(new Error('the disk has failed')) })
      : Readable.from(chunks(bytes));
  };
  const storer = startStorer({
    jobs,
    encryption: known,
    put: isEnabled ? putWith(guardedSender(fetching, connector), { get }, s3Places({}), settings) : undefined,
    hostOf: ({ url, s3 }) => (s3 === undefined ? URL.parse(url)?.hostname : s3Places({}).originOf(s3)),
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

function* chunks(bytes: number): Generator<Buffer> {
  for (let sent = 0; sent < bytes; sent += 65_536) yield Buffer.alloc(65_536, 7);
}

/** A job whose conversion has ended. */
async function aStoring(
  path: string,
  host = '127.0.0.2',
  port = receiver.port,
  { sizeBytes = BYTES, ...more }: { sizeBytes?: number; s3?: { connection: string } } = {},
): Promise<Stored> {
  const record = aRecord();
  const target = { url: `http://${host}:${port}${path}`, headers: {}, client: 'c', ...more };
  const output = { key: `jobs/${record.id}/out`, filename: 'a.bin', sizeBytes, contentType: 'image/png', sha256: '', files: 1 };
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
  expect((await recordOf(stored))?.failure?.details).not.toHaveProperty('retryable');
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

it('a server that takes the file too slowly is given up long before the time of an attempt', async () => {
  const sizeBytes = 256 << 20;
  const stored = await aStoring('/', 'sluggish.test', portOf(sluggish), { sizeBytes });
  const begun = performance.now();
  start({ minBytesPerSecond: 32 << 20, bytes: sizeBytes }).offer(stored);
  expect(await until(stored, 'pending')).toMatchObject({ destination: { attempts: 1, lastError: 'unreachable' } });
  // Longer than a server that takes nothing.
  expect(performance.now() - begun).toBeGreaterThan(3_990);
}, 60_000);

it('an attempt ends after its time, whatever its server does, and no other follows', async () => {
  receiver.answer('/slow', () => {});
  const stored = await aStoring('/slow', 'slow.test');
  const begun = performance.now();
  start({ idleMs: 60_000, uploadMs: 1_000 }).offer(stored);
  expect(await until(stored, 'failed')).toMatchObject({
    destination: { attempts: 1, lastError: 'timeout' },
    failure: { details: { store_error: 'timeout', attempts: 1, retryable: true } },
  });
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

it('a job whose attempts end with their processes again and again fails, and nothing is sent any more', async () => {
  let stored = await aStoring('/crashes');
  for (let deaths = 0; deaths < 3; deaths++) {
    const claimed = claimStoring(stored.record, now);
    if (claimed === undefined) throw new Error('an attempt that cannot begin');
    stored = await jobs.update(claimed, stored.revision);
    now += 61_000;
  }
  start().offer(stored);
  expect(await until(stored, 'failed')).toMatchObject({
    state: 'error',
    failure: { reason: 'output_not_stored', details: { store_error: 'crashed', attempts: 3, retryable: true } },
  });
  expect(receiver.at('/crashes')).toEqual([]);
});

it.each([
  ['stores nothing elsewhere', 'disabled', { isEnabled: false }, {}],
  ['does not know the key', 'key', { known: encryptionWith(['another key of this test, long enough'], 'salt') }, {}],
  ['does not know the connection', 'connection', {}, { s3: { connection: 'gone' } }],
])(
  'a result that waits for a service that %s fails its job, once no other process has stored it',
  async (_, lastError, started, target) => {
    const stored = await aStoring('/restarted', '127.0.0.2', receiver.port, target);
    const storer = start(started);
    storer.offer(stored);
    await pause(100);
    expect((await recordOf(stored))?.state).toBe('storing');
    now += 11 * 60_000;
    storer.offer(stored);
    const record = await until(stored, 'failed');
    expect(record).toMatchObject({
      state: 'error',
      destination: { lastError },
      failure: { details: { store_error: lastError, attempts: 0 } },
    });
    expect(record?.failure?.message).toMatch(/^The result could not be stored where the request wanted it: .*(any more|key|connection)/);
    expect([record?.output, record?.destination?.sealed, receiver.at('/restarted')]).toEqual([undefined, undefined, []]);
  },
);

it('nothing is sent for a job that was deleted, and an attempt that a stop interrupts is due at once for the next process', async () => {
  const deleted = await aStoring('/deleted');
  await jobs.update(cancel(deleted.record, now), deleted.revision);
  const storer = start({ idleMs: 60_000 });
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
