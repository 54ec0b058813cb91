/** What the API server's time is, from answers whose `Date` has whole seconds. */
import { expect, it } from 'vitest';
import { serverClock } from '../../../src/kube/connection/clock.ts';

const START = Date.parse('2026-03-01T12:00:00.400Z');
const AHEAD = 600_000;

/** An answer at a time of our own clock, which the server gives ten minutes later by its own. @param takes ms */
function answers(clock: ReturnType<typeof serverClock>, at: number, takes = 4, ahead = AHEAD): void {
  clock.learn(new Date(START + at + ahead).toUTCString(), at - takes / 2, at + takes / 2);
}

it('is told to within a second by one answer, and better by more', () => {
  let now = 0;
  const clock = serverClock(() => now);
  answers(clock, 0);
  expect(Math.abs(clock.now() - (START + AHEAD))).toBeLessThan(600);
  for (let at = 0; at < 60_000; at += 730) answers(clock, at);
  now = 60_000;
  expect(Math.abs(clock.now() - (START + AHEAD + now))).toBeLessThan(60);
});

it('is not made worse by slow answers, nor by one that says no time', () => {
  const clock = serverClock(() => 10_000);
  for (let at = 0; at < 10_000; at += 730) answers(clock, at);
  const before = clock.now();
  answers(clock, 10_000, 9_000);
  clock.learn(undefined, 0, 1);
  clock.learn('soon', 0, 1);
  expect(Math.abs(clock.now() - before)).toBeLessThan(5);
});

it('follows a server whose clock was set', () => {
  const clock = serverClock(() => 10_000);
  answers(clock, 0);
  answers(clock, 10_000, 4, AHEAD - 3_000);
  expect(Math.abs(clock.now() - (START + 10_000 + AHEAD - 3_000))).toBeLessThan(600);
});

it('goes on as two clocks that drift apart', () => {
  let now = 0;
  const clock = serverClock(() => now);
  for (; now < 3_600_000; now += 15_000) answers(clock, now, 4, AHEAD + now * 5e-5);
  expect(Math.abs(clock.now() - (START + now + AHEAD + now * 5e-5))).toBeLessThan(1_000);
});
