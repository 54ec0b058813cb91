/** What follows an attempt to store a result. */
import { expect, it } from 'vitest';
import { afterStoring } from '../../../src/destinations/decide.ts';

const NOW = 1_000_000;
const after = (end: Parameters<typeof afterStoring>[0], attempts = 1) => afterStoring(end, attempts, { now: NOW, random: 0.5 });

it.each([200, 201, 204])('%i: it is stored', (status) => expect(after({ status })).toBe('stored'));

it.each([301, 307, 400, 403, 404, 409, 411, 412, 413])('%i: no other attempt would be answered differently', (status) =>
  expect(after({ status })).toBe('failed'),
);

it('an attempt that took all of its time is the last', () => expect(after({ error: 'timeout' })).toBe('failed'));

it.each(['scheme', 'port', 'address', 'credentials', 'anything'])('%s: it is no place for a result', (error) =>
  expect(after({ error })).toBe('failed'),
);

it.each([
  { status: 408 },
  { status: 429 },
  { status: 500 },
  { status: 503 },
  { error: 'unreachable' },
  { error: 'dns' },
  { error: 'unavailable' },
])('%o: another attempt follows, six in all, each after a longer pause', (end) => {
  const pauses = [1, 2, 3, 4, 5].map((attempts) => {
    const next = after(end, attempts);
    return typeof next === 'string' ? next : next.nextAt - NOW;
  });
  expect(pauses).toEqual([1_000, 5_000, 20_000, 60_000, 120_000]);
  expect(after(end, 6)).toBe('failed');
  // After crashes.
  expect(after(end, 60)).toBe('failed');
});

it.each([
  ['30', 30_000],
  ['0', 1_000],
  ['999999', 300_000],
  ['soon', 1_000],
  ['9'.repeat(400), 1_000],
])('a Retry-After of %s is obeyed within bounds', (retryAfter, ms) => {
  expect(after({ status: 503, retryAfter })).toEqual({ nextAt: NOW + ms });
});
