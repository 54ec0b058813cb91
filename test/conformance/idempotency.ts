/** What every store of idempotency records must do. */
import { expect, it } from 'vitest';
import { IDEMPOTENCY_TTL_MS, type IdempotencyRecord, type IdempotencyStore } from '../../src/jobs/idempotency.ts';
import { HOUR, jobId, START } from './samples.ts';
import { withinEach } from './within.ts';

export interface IdempotencyHarness {
  readonly first: IdempotencyStore;
  /** The same store once more, as another process or a later start sees it. */
  reopen(): Promise<IdempotencyStore>;
  /** Puts what cannot be read in the place of an idempotency record. */
  damage(key: string): Promise<void>;
  close(): Promise<void>;
}

const anIdempotencyRecord = (number: number, more: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
  version: 1,
  key: String(number).padStart(64, '0'),
  fingerprint: 'f'.repeat(64),
  resourceId: jobId(number),
  createdAt: START,
  ...more,
});

export function idempotencySuite(open: () => Promise<IdempotencyHarness>): void {
  const within = withinEach(open);

  it(
    'keeps an idempotency record, and shows it to another process',
    within(async ({ first, reopen }) => {
      expect(await first.claim(anIdempotencyRecord(1))).toEqual(anIdempotencyRecord(1));
      expect(await (await reopen()).get(anIdempotencyRecord(1).key, START)).toEqual(anIdempotencyRecord(1));
    }),
  );
  it(
    'knows nothing of other keys',
    within(async ({ first }) => {
      await first.claim(anIdempotencyRecord(1));
      expect(await first.get(anIdempotencyRecord(2).key, START)).toBeUndefined();
    }),
  );
  it(
    'keeps the first of two under one key, also when another process brings the second',
    within(async ({ first, reopen }) => {
      await first.claim(anIdempotencyRecord(1));
      const late = anIdempotencyRecord(1, { resourceId: jobId(9), fingerprint: '0'.repeat(64), createdAt: START + 1 });
      expect(await (await reopen()).claim(late)).toEqual(anIdempotencyRecord(1));
      expect(await first.get(anIdempotencyRecord(1).key, START + 1)).toEqual(anIdempotencyRecord(1));
    }),
  );
  it(
    'keeps one of fifty that come at once, and tells all of them which',
    within(async ({ first, reopen }) => {
      const second = await reopen();
      const told = await Promise.all(
        Array.from({ length: 50 }, (_, index) => (index % 2 ? first : second).claim(anIdempotencyRecord(1, { resourceId: jobId(index) }))),
      );
      expect(new Set(told.map(({ resourceId }) => resourceId)).size).toBe(1);
    }),
  );
  it(
    'shows an idempotency record to the end of its time, and replaces it after',
    within(async ({ first }) => {
      await first.claim(anIdempotencyRecord(1));
      expect(await first.get(anIdempotencyRecord(1).key, START + IDEMPOTENCY_TTL_MS)).toEqual(anIdempotencyRecord(1));
      expect(await first.get(anIdempotencyRecord(1).key, START + IDEMPOTENCY_TTL_MS + 1)).toBeUndefined();
      const next = anIdempotencyRecord(1, { resourceId: jobId(2), createdAt: START + IDEMPOTENCY_TTL_MS + 1 });
      expect(await first.claim(next)).toEqual(next);
    }),
  );
  it(
    'removes an idempotency record, but not the one that came after it',
    within(async ({ first }) => {
      await first.claim(anIdempotencyRecord(1));
      await first.remove(anIdempotencyRecord(1, { resourceId: jobId(7) }));
      expect(await first.get(anIdempotencyRecord(1).key, START)).toEqual(anIdempotencyRecord(1));
      for (let n = 0; n < 2; n++) await first.remove(anIdempotencyRecord(1));
      expect(await first.get(anIdempotencyRecord(1).key, START)).toBeUndefined();
    }),
  );
  it(
    'sweeps out what is too old, and nothing else',
    within(async ({ first }) => {
      for (let n = 0; n < 5; n++) await first.claim(anIdempotencyRecord(n, { createdAt: START + n }));
      expect(await first.sweep(START + IDEMPOTENCY_TTL_MS + 3)).toBe(3);
      expect(await first.get(anIdempotencyRecord(3).key, START + IDEMPOTENCY_TTL_MS)).toEqual(
        anIdempotencyRecord(3, { createdAt: START + 3 }),
      );
    }),
  );
  it(
    'sweeps past one that it cannot read',
    within(async ({ first, damage }) => {
      for (let n = 0; n < 4; n++) await first.claim(anIdempotencyRecord(n, { createdAt: n === 1 ? START + HOUR : START }));
      await damage(anIdempotencyRecord(1).key);
      expect(await first.sweep(START + IDEMPOTENCY_TTL_MS + 1)).toBe(3);
      expect(await first.sweep(START + IDEMPOTENCY_TTL_MS + 1)).toBe(0);
    }),
  );
  it(
    'refuses what is no idempotency record',
    within(async ({ first }) => {
      await expect(first.claim(anIdempotencyRecord(1, { resourceId: '../x' }))).rejects.toThrow();
    }),
  );
}
