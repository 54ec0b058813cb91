/** What every store of batches must do. */
import { expect, it } from 'vitest';
import type { BatchStore } from '../../src/jobs/batch.ts';
import { Conflict } from '../../src/jobs/store.ts';
import { collect, jobId, START } from './samples.ts';
import { withinEach } from './within.ts';

export interface BatchesHarness {
  readonly first: BatchStore;
  /** The same store once more, as another process or a later start sees it. */
  reopen(): Promise<BatchStore>;
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
      await expect((await reopen()).create({ ...aBatch(1), jobs: [jobId(7)] })).rejects.toBeInstanceOf(Conflict);
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
    'scans more than it reads at once',
    within(async ({ first }) => {
      for (let n = 0; n < 150; n++) await first.create(aBatch(n));
      const found = (await collect(first.scan())).map(({ id }) => id);
      expect(new Set(found).size).toBe(150);
      expect(found).toHaveLength(150);
    }),
  );
}
