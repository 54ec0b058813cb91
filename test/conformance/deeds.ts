/** What every store of deeds must do. */
import { expect, it } from 'vitest';
import { type Deed, type DeedStore, REPEATABLE_MS } from '../../src/jobs/idempotency.ts';
import { HOUR, jobId, START } from './samples.ts';
import { withinEach } from './within.ts';

export interface DeedsHarness {
  readonly first: DeedStore;
  /** The same store once more, as another process or a later start sees it. */
  reopen(): Promise<DeedStore>;
  /** Puts what cannot be read in the place of a deed. */
  damage(key: string): Promise<void>;
  close(): Promise<void>;
}

const aDeed = (number: number, more: Partial<Deed> = {}): Deed => ({
  version: 1,
  key: String(number).padStart(64, '0'),
  fingerprint: 'f'.repeat(64),
  made: jobId(number),
  madeAt: START,
  ...more,
});

export function deedsSuite(open: () => Promise<DeedsHarness>): void {
  const within = withinEach(open);

  it(
    'keeps a deed, and shows it to another process',
    within(async ({ first, reopen }) => {
      expect(await first.keep(aDeed(1))).toEqual(aDeed(1));
      expect(await (await reopen()).get(aDeed(1).key, START)).toEqual(aDeed(1));
    }),
  );
  it(
    'knows nothing of other keys',
    within(async ({ first }) => {
      await first.keep(aDeed(1));
      expect(await first.get(aDeed(2).key, START)).toBeUndefined();
    }),
  );
  it(
    'keeps the first of two under one key, whoever comes with the second',
    within(async ({ first, reopen }) => {
      await first.keep(aDeed(1));
      const late = aDeed(1, { made: jobId(9), fingerprint: '0'.repeat(64), madeAt: START + 1 });
      expect(await (await reopen()).keep(late)).toEqual(aDeed(1));
      expect(await first.get(aDeed(1).key, START + 1)).toEqual(aDeed(1));
    }),
  );
  it(
    'keeps one of fifty that come at once, and tells all of them which',
    within(async ({ first, reopen }) => {
      const second = await reopen();
      const told = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? first : second).keep(aDeed(1, { made: jobId(index) }))),
      );
      expect(new Set(told.map(({ made }) => made)).size).toBe(1);
    }),
  );
  it(
    'shows a deed to the end of its time, and replaces it after',
    within(async ({ first }) => {
      await first.keep(aDeed(1));
      expect(await first.get(aDeed(1).key, START + REPEATABLE_MS)).toEqual(aDeed(1));
      expect(await first.get(aDeed(1).key, START + REPEATABLE_MS + 1)).toBeUndefined();
      const next = aDeed(1, { made: jobId(2), madeAt: START + REPEATABLE_MS + 1 });
      expect(await first.keep(next)).toEqual(next);
    }),
  );
  it(
    'removes a deed, but not the one that came after it',
    within(async ({ first }) => {
      await first.keep(aDeed(1));
      await first.remove(aDeed(1, { made: jobId(7) }));
      expect(await first.get(aDeed(1).key, START)).toEqual(aDeed(1));
      for (let n = 0; n < 2; n++) await first.remove(aDeed(1));
      expect(await first.get(aDeed(1).key, START)).toBeUndefined();
    }),
  );
  it(
    'sweeps out what is too old, and nothing else',
    within(async ({ first }) => {
      for (let n = 0; n < 5; n++) await first.keep(aDeed(n, { madeAt: START + n }));
      expect(await first.sweep(START + REPEATABLE_MS + 3)).toBe(3);
      expect(await first.get(aDeed(3).key, START + REPEATABLE_MS)).toEqual(aDeed(3, { madeAt: START + 3 }));
    }),
  );
  it(
    'sweeps past one that it cannot read',
    within(async ({ first, damage }) => {
      for (let n = 0; n < 4; n++) await first.keep(aDeed(n, { madeAt: n === 1 ? START + HOUR : START }));
      await damage(aDeed(1).key);
      expect(await first.sweep(START + REPEATABLE_MS + 1)).toBe(3);
      expect(await first.sweep(START + REPEATABLE_MS + 1)).toBe(0);
    }),
  );
  it(
    'refuses what is no deed',
    within(async ({ first }) => {
      await expect(first.keep(aDeed(1, { made: '../x' }))).rejects.toThrow();
    }),
  );
}
