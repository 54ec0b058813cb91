/** What every store of batches must do. */

import { expect, it } from 'vitest';
import { RevisionConflict } from '../../src/errors.ts';
import type { BatchStore } from '../../src/jobs/batch.ts';
import { collect, jobId, START } from './samples.ts';
import { withinEach } from './within.ts';

export interface BatchesHarness {
  readonly first: BatchStore;
  /** The same store once more, as another process or a later start sees it. */
  reopen(): Promise<BatchStore>;
  /** Puts what cannot be read in the place of a batch. */
  damage(id: string): Promise<void>;
  /** What was reported as unreadable. */
  readonly told: readonly Error[];
  close(): Promise<void>;
}

const aBatch = (number: number) => ({
  version: 1 as const,
  id: `bat_${String(number).padStart(16, '0')}`,
  createdAt: START,
  jobs: [jobId(2), jobId(1), jobId(3)],
});

export function batchesSuite(open: () => Promise<BatchesHarness>): void {
  const within = withinEach(open);

  it(
    'gives back what was created, with its jobs in their order',
    within(async ({ first }) => {
      await first.create(aBatch(1));
      expect(await first.get(aBatch(1).id)).toEqual(aBatch(1));
    }),
  );
  it(
    'knows nothing of others',
    within(async ({ first }) => expect(await first.get(aBatch(9).id)).toBeUndefined()),
  );
  it(
    'creates none twice',
    within(async ({ first, reopen }) => {
      await first.create(aBatch(1));
      await expect((await reopen()).create({ ...aBatch(1), jobs: [jobId(7)] })).rejects.toBeInstanceOf(RevisionConflict);
      expect((await first.get(aBatch(1).id))?.jobs).toEqual(aBatch(1).jobs);
    }),
  );
  it(
    'shows another process what was created',
    within(async ({ first, reopen }) => {
      await first.create(aBatch(1));
      expect(await (await reopen()).get(aBatch(1).id)).toEqual(aBatch(1));
    }),
  );
  it(
    'removes one, and again is no error',
    within(async ({ first }) => {
      await first.create(aBatch(1));
      await first.create(aBatch(2));
      for (let n = 0; n < 2; n++) await first.remove(aBatch(1).id);
      expect((await collect(first.scan())).map(({ id }) => id)).toEqual([aBatch(2).id]);
    }),
  );
  it(
    'finds those that were created before a time, and no others',
    within(async ({ first }) => {
      for (let n = 0; n < 150; n++) await first.create({ ...aBatch(n), createdAt: START + n });
      const found = await collect(first.createdBefore(START + 100));
      expect(found.map(({ createdAt }) => createdAt).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => START + n));
    }),
  );
  it(
    'passes over one that it cannot read, and says so',
    within(async ({ first, damage, told }) => {
      for (const n of [1, 2, 3]) await first.create(aBatch(n));
      await damage(aBatch(2).id);
      expect((await collect(first.scan())).map(({ id }) => id).toSorted()).toEqual([aBatch(1).id, aBatch(3).id]);
      expect(told).toHaveLength(1);
      expect((await collect(first.createdBefore(START + 1))).map(({ id }) => id).toSorted()).toEqual([aBatch(1).id, aBatch(3).id]);
      expect(told).toHaveLength(2);
    }),
  );
  it(
    'scans more than it reads at once',
    within(async ({ first }) => {
      for (let n = 0; n < 150; n++) await first.create(aBatch(n));
      const found = (await collect(first.scan())).map(({ id }) => id);
      expect(new Set(found).size).toBe(150);
      expect(found).toHaveLength(150);
    }),
  );
}
