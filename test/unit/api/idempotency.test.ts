/** A claim on an idempotency key lives as long as what it was claimed for: a request that fails leaves its key free. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ApiDeps } from '../../../src/api/deps.ts';
import type { Received } from '../../../src/api/intake/receive.ts';
import { apiSettings } from '../../../src/api/settings.ts';
import { admitRequest } from '../../../src/api/submit/idempotency.ts';
import { encryptionWith } from '../../../src/jobs/encryption.ts';
import type { IdempotencyStore } from '../../../src/jobs/idempotency.ts';
import { openSqliteIdempotency } from '../../../src/jobs/sqlite/idempotency.ts';
import { identifyWith } from '../../../src/limits/clients/client.ts';
import { type Limiter, limiterOver } from '../../../src/limits/limiter.ts';
import { limitSettings } from '../../../src/limits/settings.ts';
import { openSqliteLimits } from '../../../src/limits/sqlite.ts';
import type { LimitStore } from '../../../src/limits/store.ts';
import { START, someId } from '../../conformance/samples.ts';

let folder: string;
let store: IdempotencyStore;
let clients: LimitStore;
let limiter: Limiter;
const identify = identifyWith({ trustProxy: [], sharedEgress: [], salt: 'salt' });
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filemill-idempotency-'));
  store = openSqliteIdempotency(join(folder, 'db'));
  clients = openSqliteLimits(join(folder, 'db'), () => START);
  limiter = limiterOver(clients, limitSettings.parse({ cooldownMs: 0 }), { clock: () => START, fateOf: async () => 'unfinished' });
});
afterEach(async () => {
  await clients.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const encryption = encryptionWith(['k'.repeat(32)], 'salt');
const sent: Received = { fields: new Map([['to_format', 'jpg']]), files: [], count: 0 };
const other: Received = { ...sent, fields: new Map([['to_format', 'png']]) };

const admitWith = async (idempotency: IdempotencyStore = store) => {
  const jobs = { idempotency, encryption, room: { isFull: async () => false }, clock: () => START };
  const deps = { jobs, limits: { identify, limiter }, service: { settings: apiSettings.parse({}) } } as unknown as ApiDeps;
  const request = {
    url: '/api/v1/convert',
    headers: { 'idempotency-key': 'mine' },
    raw: { headers: {}, socket: { remoteAddress: '192.0.2.1' } },
    routeOptions: { config: {} },
    log: { warn: () => {} },
  } as unknown as FastifyRequest;
  return (await admitRequest(deps, request, [someId()], ['image'])).idempotency;
};

/** How much of the client's daily limit is used. */
const sharesUsed = async () => (await limiter.usage(identify('192.0.2.1', undefined))).daily.used;

/** A request up to its claim, which is kept where it succeeds. @returns the id that it is answered with */
async function claim(id: string, { keep = true, idempotency = store, body = sent } = {}): Promise<string> {
  await using admitted = await admitWith(idempotency);
  const earlier = (await admitted.resolve(body)) ?? (await admitted.claim(id, body));
  if (keep) admitted.keep();
  return earlier ?? id;
}

it('a kept claim answers the next request with the same id, which takes no share', async () => {
  const [first, second] = [someId(), someId()];
  expect([await claim(first), await claim(second)]).toEqual([first, first]);
  expect(await sharesUsed()).toBe(1);
});

it('another request under the same key is refused', async () => {
  await claim(someId());
  await expect(claim(someId(), { body: other })).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
});

it('a request that fails after its claim leaves the key free', async () => {
  const second = someId();
  await claim(someId(), { keep: false });
  expect(await claim(second)).toBe(second);
});

it('a claim whose answer is lost leaves the key free', async () => {
  const lossy: IdempotencyStore = {
    ...store,
    async claim(record) {
      await store.claim(record);
      throw new Error('lost');
    },
  };
  await expect(claim(someId(), { idempotency: lossy })).rejects.toThrow('lost');
  const second = someId();
  expect(await claim(second)).toBe(second);
});

it('of two requests at once the second gets the id of the first and its share back, and does not remove the claim', async () => {
  const [first, second] = [someId(), someId()];
  {
    await using late = await admitWith();
    await claim(first);
    expect([await late.resolve(sent), await late.claim(second, sent)]).toEqual([undefined, first]);
    expect(await sharesUsed()).toBe(1);
  }
  expect(await claim(second)).toBe(first);
});
