/** When workers of a template that keep failing are tried again. */
import { expect, it } from 'vitest';
import { backOff } from '../../../../src/controller/pools/decide/back-off.ts';

const why = { reason: 'WorkersFail', message: 'exit code 1' } as const;

it('doubles from ten seconds up to five minutes', () => {
  const failures = backOff();
  let at = 0;
  const waits = Array.from({ length: 7 }, () => {
    failures.failed('a', at, why);
    const until = failures.active('a')?.until ?? Number.NaN;
    const wait = until - at;
    at = until + 1;
    return wait;
  });
  expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
});

it('counts failures of workers that were created together once', () => {
  const failures = backOff();
  for (const at of [5_000, 5_001, 6_000]) failures.failed('a', at, why, 1_000);
  expect(failures.active('a')).toEqual({ until: 15_000, why: { ...why, once: true } });
  expect(failures.failures()).toBe(3);
  failures.failed('a', 20_000, why, 16_000);
  expect(failures.active('a')).toEqual({ until: 40_000, why });
});

it('begins after a few failures where a file may be at fault, and starts again after a success', () => {
  const failures = backOff(3);
  const thrice = (from: number) => {
    for (const at of [0, 1, 2]) failures.failed('a', from + at, why);
  };
  thrice(0);
  expect(failures.active('a')).toBeUndefined();
  failures.failed('a', 1_000, why);
  expect(failures.active('a')).toMatchObject({ until: 11_000, why });
  failures.succeeded('a');
  thrice(20_000);
  expect(failures.active('a')).toBeUndefined();
});

it('holds back no other template, and ends when a worker of the same template comes up', () => {
  const failures = backOff();
  for (const at of [0, 20_000, 60_000]) failures.failed('a', at, why);
  expect(failures.active('b')).toBeUndefined();
  failures.failed('b', 61_000, why);
  expect(failures.active('b')?.until).toBe(71_000);
  failures.succeeded('a');
  expect(failures.active('b')).toBeDefined();
  failures.succeeded('b');
  expect(failures.active('b')).toBeUndefined();
});
