/** What every store of uploads must do. */

import { expect, it } from 'vitest';
import { RevisionConflict } from '../../src/errors.ts';
import { Exceeded, type UploadBounds, type UploadRecord, type UploadStore } from '../../src/uploads/store.ts';
import { collect, HOUR, jobId, START } from './samples.ts';
import { withinEach } from './within.ts';

export interface UploadsHarness {
  readonly first: UploadStore;
  /** The same store once more, as another process or a later start sees it. */
  reopen(): Promise<UploadStore>;
  /** Puts what cannot be read in the place of a record. */
  damage(id: string): Promise<void>;
  /** What was reported as unreadable. */
  readonly told: readonly Error[];
  close(): Promise<void>;
}

const anUpload = (number: number, change: Partial<UploadRecord> = {}): UploadRecord => ({
  version: 1,
  id: `upl_${jobId(number)}`,
  client: 'one',
  filename: 'scan.pdf',
  metadata: { filename: 'scan.pdf', private: null },
  sizeBytes: 100,
  parts: [],
  finished: false,
  createdAt: START,
  expiresAt: START + HOUR,
  ...change,
});
const PLENTY: UploadBounds = { uploads: 1000, bytes: 1e12, now: START };

export function uploadsSuite(open: () => Promise<UploadsHarness>): void {
  const within = withinEach(open);

  it(
    'gives back what was created, to another process too',
    within(async ({ first, reopen }) => {
      const { revision } = await first.create(anUpload(1), PLENTY);
      const expected = { record: anUpload(1), revision };
      expect(await first.get(anUpload(1).id)).toEqual(expected);
      expect(await (await reopen()).get(anUpload(1).id)).toEqual(expected);
      expect(await first.get(anUpload(9).id)).toBeUndefined();
    }),
  );
  it(
    'creates none twice, not even where there is no room for another',
    within(async ({ first }) => {
      await first.create(anUpload(1), PLENTY);
      await expect(first.create(anUpload(1, { client: 'two' }), PLENTY)).rejects.toBeInstanceOf(RevisionConflict);
      await expect(first.create(anUpload(1), { ...PLENTY, uploads: 1 })).rejects.toBeInstanceOf(RevisionConflict);
      expect((await first.get(anUpload(1).id))?.record.client).toBe('one');
    }),
  );
  it(
    'lets the first writer win, also where it is another process',
    within(async ({ first, reopen }) => {
      const created = await first.create(anUpload(1), PLENTY);
      const grown = anUpload(1, { parts: [['0-a', 100]], finished: true });
      const updated = await (await reopen()).update(grown, created.revision);
      await expect(first.update(anUpload(1, { parts: [['0-b', 7]] }), created.revision)).rejects.toBeInstanceOf(RevisionConflict);
      expect(await first.get(anUpload(1).id)).toEqual({ record: grown, revision: updated.revision });
      expect(updated.revision).toBeGreaterThan(created.revision);
    }),
  );
  it(
    'does not bring back by an update what was removed, nor take an old revision for a new record',
    within(async ({ first }) => {
      const { revision } = await first.create(anUpload(1), PLENTY);
      for (let n = 0; n < 2; n++) await first.remove(anUpload(1).id);
      await expect(first.update(anUpload(1), revision)).rejects.toBeInstanceOf(RevisionConflict);
      await first.create(anUpload(1), PLENTY);
      await expect(first.update(anUpload(1), revision)).rejects.toBeInstanceOf(RevisionConflict);
    }),
  );
  it(
    'creates no more of one client than are allowed, of many that come at once',
    within(async ({ first, reopen }) => {
      const second = await reopen();
      const tried = await Promise.allSettled(
        Array.from({ length: 9 }, (_, n) => (n % 2 === 0 ? first : second).create(anUpload(n), { ...PLENTY, uploads: 4 })),
      );
      expect(tried.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
      expect(tried.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))[0]).toMatchObject({
        name: 'Exceeded',
        bound: 'uploads',
        limit: 4,
        freeAt: START + HOUR,
      });
      await expect(first.create(anUpload(20, { client: 'two' }), { ...PLENTY, uploads: 4 })).resolves.toBeDefined();
    }),
  );
  it(
    'counts the bytes of one client to the last',
    within(async ({ first }) => {
      const bounds = { ...PLENTY, bytes: 250 };
      for (const n of [1, 2]) await first.create(anUpload(n), bounds);
      await expect(first.create(anUpload(3, { sizeBytes: 51 }), bounds)).rejects.toMatchObject({ bound: 'bytes', limit: 250 });
      await first.create(anUpload(3, { sizeBytes: 50 }), bounds);
      await expect(first.create(anUpload(4, { sizeBytes: 1 }), bounds)).rejects.toBeInstanceOf(Exceeded);
    }),
  );
  it(
    'counts what a record says now, and neither what is gone nor what has expired',
    within(async ({ first }) => {
      const bounds = { ...PLENTY, bytes: 200 };
      const { revision } = await first.create(anUpload(1), bounds);
      await first.update(anUpload(1, { sizeBytes: 10, expiresAt: START + 2 * HOUR }), revision);
      await first.create(anUpload(2, { sizeBytes: 190 }), bounds);
      await expect(first.create(anUpload(3), bounds)).rejects.toBeInstanceOf(Exceeded);
      await first.remove(anUpload(2).id);
      await first.create(anUpload(3), bounds);
      await expect(first.create(anUpload(4), bounds)).rejects.toBeInstanceOf(Exceeded);
      // The third expires at that very moment, the first an hour later.
      await first.create(anUpload(4), { ...bounds, now: START + HOUR });
    }),
  );
  it(
    'finds those that have expired, and no others',
    within(async ({ first }) => {
      for (let n = 0; n < 100; n++) await first.create(anUpload(n, { expiresAt: START + n }), PLENTY);
      const found = await collect(first.expired(START + 69));
      expect(found.map(({ record }) => record.expiresAt).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 70 }, (_, n) => START + n),
      );
    }),
  );
  it(
    'passes over one that it cannot read, and says so',
    within(async ({ first, damage, told }) => {
      for (const n of [1, 2, 3]) await first.create(anUpload(n), PLENTY);
      await damage(anUpload(2).id);
      const readable = [anUpload(1).id, anUpload(3).id];
      expect((await collect(first.scan())).map(({ record }) => record.id).toSorted()).toEqual(readable);
      expect((await collect(first.expired(START + HOUR))).map(({ record }) => record.id).toSorted()).toEqual(readable);
      expect(told).toHaveLength(2);
      await expect(first.get(anUpload(2).id)).rejects.toThrow('cannot be read');
    }),
  );
  it(
    'scans more than it reads at once',
    within(async ({ first }) => {
      for (let n = 0; n < 150; n++) await first.create(anUpload(n), PLENTY);
      const found = (await collect(first.scan())).map(({ record }) => record.id);
      expect(new Set(found).size).toBe(150);
      expect(found).toHaveLength(150);
    }),
  );
}
