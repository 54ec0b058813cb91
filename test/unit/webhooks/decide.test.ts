/** What follows an attempt to send a message. */
import { expect, it } from 'vitest';
import { encryptionWith } from '../../../src/jobs/encryption.ts';
import { cancel, fail, nextLookAt, RETENTION_MS } from '../../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../../src/jobs/record.ts';
import { claimDelivery, endAttempt, giveUpDelivery, LEASE_MS, newWebhook, webhookTarget } from '../../../src/jobs/webhook.ts';
import { afterAttempt, type Ended } from '../../../src/webhooks/decide.ts';
import { aRecord, jobId } from '../../conformance/samples.ts';

const NOW = 1_800_000_000_000;
const EXPIRES = NOW + RETENTION_MS;
const after = (ended: Ended, attempts = 1, random = 0.5, expiresAt = EXPIRES) =>
  afterAttempt(ended, attempts, { now: NOW, expiresAt, random });
const at = (seconds: number) => ({ nextAt: NOW + seconds * 1_000 });

it.each<[string, Ended, ReturnType<typeof after>]>([
  ['any 2xx', { status: 204 }, 'delivered'],
  ['410', { status: 410 }, 'failed'],
  ['an address that is not public', { error: 'address' }, 'failed'],
  ['a redirect', { status: 302 }, at(5)],
  ['a refusal', { status: 401 }, at(5)],
  ['a server that does not answer', { error: 'unreachable' }, at(5)],
  ['egress that does not answer', { error: 'unavailable' }, at(5)],
  ['Retry-After in seconds', { status: 503, retryAfter: '90' }, at(90)],
  ['Retry-After as a date', { status: 429, retryAfter: new Date(NOW + 60_000).toUTCString() }, at(60)],
  ['Retry-After that is too short', { status: 503, retryAfter: '0' }, at(5)],
  ['Retry-After that is too long', { status: 503, retryAfter: '999999999' }, at(1_800)],
  ['Retry-After that is none', { status: 503, retryAfter: 'soon' }, at(5)],
])('%s', (_, ended, outcome) => expect(after(ended)).toEqual(outcome));

it('pauses grow, differ by a fifth either way, and end with the job', () => {
  const pauses = [1, 2, 3, 4, 5, 6, 7].map((attempts) => after({ status: 500 }, attempts));
  expect(pauses).toEqual([5, 30, 120, 300, 600, 1_200, 1_200].map(at));
  expect([after({ status: 500 }, 3, 0), after({ status: 500 }, 3, 1)]).toEqual([at(96), at(144)]);
  expect(after({ status: 500 }, 3, 0.5, NOW + 120_000)).toBe('failed');
});

const encryption = encryptionWith(['the first key of this test, long enough'], 'salt');
const target = { url: 'https://hooks.example.org/a', client: 'c' };
const failure = { reason: 'internal', message: '', details: {} };
const waiting = (): JobRecord => ({
  ...aRecord({ id: jobId(1) }),
  createdAt: NOW,
  expiresAt: EXPIRES,
  webhook: newWebhook(encryption, jobId(1), 'msg_1', target),
});
const ended = (): JobRecord => fail(waiting(), NOW, failure);

it('one process at a time attempts it, from the end of the job until its expiry', () => {
  expect(claimDelivery(waiting(), NOW)).toBeUndefined();
  const claimed = claimDelivery(ended(), NOW);
  expect(claimed?.webhook).toMatchObject({ state: 'pending', attempts: 1, nextAt: NOW + LEASE_MS });
  if (claimed === undefined) return;
  expect(claimDelivery(claimed, NOW + LEASE_MS - 1)).toBeUndefined();
  expect(claimDelivery(claimed, NOW + LEASE_MS)?.webhook?.attempts).toBe(2);
  // A process that has the store to itself since a moment ago waits for no attempt from before, but for each pause.
  expect(claimDelivery(claimed, NOW + 1, NOW + 1)?.webhook?.attempts).toBe(2);
  const paused = endAttempt(claimed, { status: 500 }, { nextAt: NOW + 5_000 });
  expect(paused && claimDelivery(paused, NOW + 4_999, NOW - 1)).toBeUndefined();
  expect(paused && claimDelivery(paused, NOW + 4_999, NOW + 1)).toBeUndefined();
  expect(paused && claimDelivery(paused, NOW + 5_000, NOW + 1)?.webhook?.attempts).toBe(2);
  expect(claimDelivery(claimed, NOW + 1, NOW + 1)?.webhook?.attempts).toBe(2);
  expect(claimDelivery(claimed, claimed.expiresAt)).toBeUndefined();
  expect(nextLookAt(claimed, NOW)).toBe(NOW + LEASE_MS);
});

it('what was encrypted is for its job alone, and goes with the last attempt, with the job, and when it expires', () => {
  const record = ended();
  const { sealed = '' } = record.webhook ?? {};
  expect(webhookTarget(encryption, jobId(1), sealed)).toEqual(target);
  expect(() => webhookTarget(encryption, jobId(2), sealed)).toThrow();
  expect(() => encryption.decrypt(sealed, jobId(1))).toThrow();
  const again = endAttempt(record, { status: 503 }, { nextAt: NOW + 5_000 });
  expect(again?.webhook).toMatchObject({ state: 'pending', sealed, lastStatus: 503, nextAt: NOW + 5_000 });
  for (const after of [endAttempt(record, { status: 200 }, 'delivered'), giveUpDelivery(record), cancel(record, NOW)])
    expect(after?.webhook?.sealed).toBeUndefined();
  expect(endAttempt(cancel(record, NOW), { status: 200 }, 'delivered')).toBeUndefined();
});
