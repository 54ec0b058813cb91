/** Who may make how many Jobs, and how fast. */
import { expect, it } from 'vitest';
import { tokenBucket } from '../../../../src/controller/pools/apply/token-bucket.ts';

/** Each of them asks again and again. @returns how many each got in `seconds` */
function taken(askers: readonly string[], seconds: number, perSecond = 20, burst = 50): Map<string, number> {
  let now = 0;
  const bucket = tokenBucket(perSecond, burst, () => now);
  const got = new Map(askers.map((asker) => [asker, 0]));
  for (; now < seconds * 1_000; now += 50)
    for (const asker of askers) while (bucket.take(asker) === 0) got.set(asker, (got.get(asker) ?? 0) + 1);
  return got;
}

it('gives one that asks alone the burst, and then the rate', () => {
  expect(taken(['a'], 0.05).get('a')).toBe(50);
  expect(taken(['a'], 10).get('a')).toBeGreaterThanOrEqual(50 + 9.5 * 20);
  expect(taken(['a'], 10).get('a')).toBeLessThanOrEqual(50 + 10 * 20);
});

it('gives those that ask at the same time equal parts, in whatever order they ask', () => {
  const got = [...taken(['greedy', 'b', 'c', 'd'], 30).values()];
  const all = got.reduce((sum, count) => sum + count, 0);
  expect(all).toBeLessThanOrEqual(50 + 30 * 20);
  expect(Math.min(...got)).toBeGreaterThan((30 * 20 * 0.8) / 4);
});

it('gives a newcomer its part at once, though another has used up the burst', () => {
  let now = 0;
  const bucket = tokenBucket(20, 50, () => now);
  while (bucket.take('greedy') === 0);
  let waited = 0;
  while (bucket.take('new') > 0) {
    bucket.take('greedy');
    now += 10;
    waited += 10;
  }
  expect(waited).toBeLessThanOrEqual(200);
});

it('says how long to wait', () => {
  let now = 0;
  const bucket = tokenBucket(10, 1, () => now);
  expect(bucket.take('a')).toBe(0);
  const waitMs = bucket.take('a');
  expect(waitMs).toBe(100);
  now += waitMs;
  expect(bucket.take('a')).toBe(0);
});

it('gives the whole to the only client that still asks', () => {
  let now = 0;
  const bucket = tokenBucket(20, 20, () => now);
  for (const asker of ['a', 'b', 'c', 'd']) while (bucket.take(asker) === 0);
  now += 5_000;
  let got = 0;
  while (bucket.take('a') === 0) got++;
  expect(got).toBe(20);
});
