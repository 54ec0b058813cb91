/** What every store of jobs must hold to, whatever keeps it. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RevisionConflict } from '../../src/errors.ts';
import { cancel, claim, leave, TOMBSTONE_MS } from '../../src/jobs/lifecycle.ts';
import type { JobRecord } from '../../src/jobs/record.ts';
import type { JobStore, Stored } from '../../src/jobs/store.ts';
import { Unreadable } from '../../src/jobs/text.ts';
import { aRecord, collect, HOUR, jobId, START, signalled } from './samples.ts';

export interface JobsHarness {
  readonly store: JobStore;
  /** A second process's view of the same store; the first was not closed, as after a crash. */
  reopen(): Promise<JobStore>;
  /** Lets this much time pass for locks, ms. */
  elapse(ms: number): Promise<void>;
  /** Puts a text in the place of a record of the pool `image`. */
  damage(id: string, text: string): Promise<void>;
  close(): Promise<void>;
}

export function jobsSuite(name: string, open: () => Promise<JobsHarness>): void {
  describe(`jobs in ${name}`, () => {
    let harness: JobsHarness;
    let store: JobStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
    });
    afterEach(() => harness.close());

    describe('a record', () => {
      it('is read as it was created', async () => {
        const record = aRecord({ options: { quality: 80 }, warnings: [{ code: 'w', message: 'ä' }] });
        const { revision } = await store.create(record);
        expect(await store.get(record.id)).toEqual({ record, revision });
      });

      it('that never was is undefined', async () => expect(await store.get(jobId(1))).toBeUndefined());

      it('is not created twice, and the first stays', async () => {
        const record = aRecord();
        await store.create(record);
        await expect(store.create({ ...record, pool: 'media' })).rejects.toThrow(RevisionConflict);
        expect((await store.get(record.id))?.record.pool).toBe('image');
      });

      it('is created by one of many who try at once', async () => {
        const record = aRecord();
        const tries = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => store.create({ ...record, attempts: n })));
        expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      });

      it('is updated by its latest revision, which grows', async () => {
        const first = await store.create(aRecord());
        const second = await store.update({ ...first.record, attempts: 1 }, first.revision);
        expect(second.revision).toBeGreaterThan(first.revision);
        expect(await store.get(first.record.id)).toEqual(second);
      });

      it('is not updated by an older revision', async () => {
        const first = await store.create(aRecord());
        await store.update({ ...first.record, attempts: 1 }, first.revision);
        await expect(store.update({ ...first.record, attempts: 2 }, first.revision)).rejects.toThrow(RevisionConflict);
        expect((await store.get(first.record.id))?.record.attempts).toBe(1);
      });

      it('is not updated once it is gone', async () => {
        const { record, revision } = await store.create(aRecord());
        await store.remove(record.id, revision);
        await expect(store.update(record, revision)).rejects.toThrow(RevisionConflict);
        expect(await store.get(record.id)).toBeUndefined();
      });

      const toMedia = async (record: JobRecord): Promise<Stored> => {
        const { revision } = await store.create(record);
        const left = leave(record, 'media', START) as JobRecord;
        return { record: left, revision: (await store.update(left, revision)).revision };
      };

      it('is moved to another pool, and is found there and nowhere else', async () => {
        const { record, revision } = await toMedia(aRecord());
        const moved = await store.move(record, revision);
        expect(moved.record).toMatchObject({ pool: 'media', state: 'queued', moved: { from: 'image', to: 'media' } });
        expect(await store.get(record.id)).toEqual(moved);
        expect(await collect(store.scan())).toEqual([moved]);
        expect(claim(moved.record, 'a', START)).toMatchObject({ state: 'running', pool: 'media' });
      });

      it('is still there where it is moved to the pool that it is in, and is taken by a worker of it', async () => {
        const { record, revision } = await store.create(aRecord());
        const left = leave(record, 'image', START) as JobRecord;
        const moved = await store.move(left, (await store.update(left, revision)).revision);
        expect(moved.record).toEqual(record);
        expect(await collect(store.scan())).toEqual([moved]);
        expect(await store.get(record.id, 'image')).toEqual(moved);
        expect(claim(moved.record, 'a', START)).toMatchObject({ state: 'running', pool: 'image' });
      });

      it('is found wherever it is moved, however often, and back again', async () => {
        let { record, revision } = await store.create(aRecord());
        for (const pool of ['media', 'pdf', 'image', 'media']) {
          const left = leave(record, pool, START) as JobRecord;
          const moved = await store.move(left, (await store.update(left, revision)).revision);
          expect(await store.get(record.id)).toEqual(moved);
          expect(await store.get(record.id, pool)).toEqual(moved);
          ({ record, revision } = moved);
        }
        await store.remove(record.id, revision);
        expect(await store.get(record.id)).toBeUndefined();
      });

      it('that leaves a pool is taken by none of its workers', async () => {
        const { record } = await toMedia(aRecord());
        expect(claim(record, 'a', START)).toBeUndefined();
      });

      it('that was changed meanwhile is not moved, and is there once', async () => {
        const { record, revision } = await toMedia(aRecord());
        const cancelled = await store.update(cancel(record, START), revision);
        await expect(store.move(record, revision)).rejects.toThrow(RevisionConflict);
        expect(await collect(store.scan())).toEqual([cancelled]);
      });

      it('created again after its removal does not take the old revision', async () => {
        const { record, revision } = await store.create(aRecord());
        await store.remove(record.id, revision);
        await store.create(record);
        await expect(store.update({ ...record, attempts: 9 }, revision)).rejects.toThrow(RevisionConflict);
        await expect(store.remove(record.id, revision)).rejects.toThrow(RevisionConflict);
      });

      it('is removed by its latest revision only, and removing it again is no error', async () => {
        const first = await store.create(aRecord());
        const second = await store.update(first.record, first.revision);
        await expect(store.remove(first.record.id, first.revision)).rejects.toThrow(RevisionConflict);
        await store.remove(first.record.id, second.revision);
        await store.remove(first.record.id, second.revision);
        expect(await store.get(first.record.id)).toBeUndefined();
      });

      it('above 16 kB is refused', async () => {
        const record = aRecord({ options: { text: 'x'.repeat(16_384) } });
        await expect(store.create(record)).rejects.toThrow(RangeError);
        expect(await store.get(record.id)).toBeUndefined();
      });

      it('outlives a process that ended without closing', async () => {
        const { record, revision } = await store.create(aRecord());
        const other = await harness.reopen();
        expect(await other.get(record.id)).toEqual({ record, revision });
      });
    });

    describe('many writers', () => {
      it('lose no update and win each revision once', async () => {
        const stores = [store, await harness.reopen()];
        const { record } = await store.create(aRecord());
        const won: number[] = [];
        const addOne = async (mine: JobStore): Promise<void> => {
          for (;;) {
            const stored = await mine.get(record.id);
            if (stored === undefined) throw new Error('the record has gone');
            try {
              await mine.update({ ...stored.record, attempts: stored.record.attempts + 1 }, stored.revision);
              won.push(stored.revision);
              return;
            } catch (error) {
              if (!(error instanceof RevisionConflict)) throw error;
            }
          }
        };
        await Promise.all(Array.from({ length: 50 }, (_, n) => addOne(stores[n % 2] ?? store)));
        expect((await store.get(record.id))?.record.attempts).toBe(50);
        expect(new Set(won).size).toBe(50);
      });

      it('are seen at once by every reader', async () => {
        const other = await harness.reopen();
        let stored = await store.create(aRecord());
        for (let attempts = 1; attempts <= 25; attempts++) {
          stored = await store.update({ ...stored.record, attempts }, stored.revision);
          expect(await other.get(stored.record.id)).toEqual(stored);
        }
      });
    });

    describe('a watch', () => {
      it('hints at a change, and reading then shows it', async () => {
        const { record, revision } = await store.create(aRecord());
        const seen = signalled();
        const end = store.watch(record.id, () => {
          // Hints may be stale, of the creation for one: only reading tells.
          void store.get(record.id).then((stored) => stored?.record.state === 'running' && seen.resolve());
        });
        await store.update({ ...record, state: 'running' }, revision);
        await seen.promise;
        end();
      });

      it('has any number of listeners, each with its own end', async () => {
        const first = await store.create(aRecord());
        let ended = 0;
        const hints = Array.from({ length: 30 }, () => signalled());
        const end = store.watch(first.record.id, () => ended++);
        const ends = hints.map(({ resolve }) => store.watch(first.record.id, resolve));
        end();
        end();
        const before = ended;
        await store.update({ ...first.record, attempts: 1 }, first.revision);
        await Promise.all(hints.map(({ promise }) => promise));
        for (const each of ends) each();
        expect(ended).toBe(before);
      });

      it('may miss what another process wrote, which reading shows all the same', async () => {
        const { record, revision } = await store.create(aRecord());
        const other = await harness.reopen();
        const end = other.watch(record.id, () => {});
        await store.update({ ...record, state: 'done' }, revision);
        expect((await other.get(record.id))?.record.state).toBe('done');
        end();
      });

      it('that hints late, when the record has changed again or gone, misleads no reader', async () => {
        const { record, revision } = await store.create(aRecord());
        const seen: (string | undefined)[] = [];
        const last = signalled();
        const end = store.watch(record.id, () => {
          void store.get(record.id).then((stored) => {
            seen.push(stored?.record.state);
            if (stored === undefined) last.resolve();
          });
        });
        const running = await store.update({ ...record, state: 'running' }, revision);
        const done = await store.update({ ...record, state: 'done' }, running.revision);
        await store.remove(record.id, done.revision);
        await last.promise;
        end();
        const order = ['queued', 'running', 'done', undefined];
        expect(seen.map((state) => order.indexOf(state))).toEqual(seen.map((state) => order.indexOf(state)).toSorted((a, b) => a - b));
      });

      it('of a record that never comes can be ended', () => store.watch(jobId(7), () => {})());
    });

    describe('a scan', () => {
      it('of an empty store yields nothing', async () => expect(await collect(store.scan())).toEqual([]));

      it('yields each untouched record once while others are written, removed and created', async () => {
        const all = await Promise.all(Array.from({ length: 300 }, (_, n) => store.create(aRecord({ id: jobId((n * 7) % 300) }))));
        const untouched = all.filter((_, n) => n % 3 === 0);
        const written = all.filter((_, n) => n % 3 === 1);
        const removed = all.filter((_, n) => n % 3 === 2);
        const seen: string[] = [];
        let step = 0;
        for await (const { record } of store.scan()) {
          seen.push(record.id);
          const [change, away] = [written[step], removed[step]];
          if (change !== undefined) await store.update({ ...change.record, attempts: 1 }, change.revision);
          if (away !== undefined) await store.remove(away.record.id, away.revision);
          if (step < 100) await store.create(aRecord());
          step++;
        }
        for (const { record } of untouched) expect(seen.filter((id) => id === record.id)).toHaveLength(1);
      });

      it('may be left early', async () => {
        for (let n = 0; n < 5; n++) await store.create(aRecord());
        for await (const _ of store.scan()) break;
        expect(await collect(store.scan())).toHaveLength(5);
      });
    });

    describe('what is due', () => {
      const done = (change: Partial<JobRecord> = {}) => aRecord({ state: 'done', endedAt: START, expiresAt: START + 2 * HOUR, ...change });
      const dueAt = async (now: number, from = store) => (await collect(from.due(now))).map(({ id }) => id);
      /** As upkeep does once it has found nothing left to do. */
      const settle = async (id: string, now: number, until: number) => {
        for await (const due of store.due(now)) if (due.id === id) await due.settle(until);
      };

      it('is a job that has not ended, again and again, however many have ended', async () => {
        const { record: open } = await store.create(aRecord());
        for (let n = 0; n < 150; n++) await store.create(done({ id: jobId(n) }));
        expect(new Set(await dueAt(START))).toHaveLength(151);
        for await (const due of store.due(START)) if (due.id !== open.id) await due.settle(START + 2 * HOUR);
        for (let n = 0; n < 2; n++) expect(await dueAt(START)).toEqual([open.id]);
        expect(await dueAt(START, await harness.reopen())).toEqual([open.id]);
        const [due] = await collect(store.due(START));
        expect(due).toMatchObject({ pool: 'image', createdAt: START });
      });

      it('is a job that is to be looked at soon, though many stand before it that are to be looked at in hours', async () => {
        for (let n = 0; n < 70; n++) await store.create(done({ id: jobId(n) }));
        for await (const due of store.due(START)) await due.settle(START + 2 * HOUR);
        const webhook = { state: 'pending', attempts: 1, nextAt: START + 30_000, messageId: 'msg', sealed: 'encrypted' } as const;
        const { record } = await store.create(done({ webhook }));
        await settle(record.id, START, webhook.nextAt);
        expect(await dueAt(START + 29_999)).toEqual([]);
        expect(await dueAt(START + 30_000)).toEqual([record.id]);
      });

      it('is a job that has ended until it is settled, again when its time has come, and as long as its record is there', async () => {
        const { record, revision } = await store.create(aRecord());
        await store.update({ ...record, state: 'done', endedAt: START }, revision);
        expect(await dueAt(START)).toContain(record.id);
        const expiry = START + 2 * HOUR;
        await settle(record.id, START, expiry);
        expect(await dueAt(expiry - 1)).toEqual([]);
        expect(await dueAt(expiry)).toContain(record.id);
        await settle(record.id, expiry, expiry + TOMBSTONE_MS);
        expect(await dueAt(expiry + TOMBSTONE_MS - 1)).toEqual([]);
        expect(await dueAt(expiry + TOMBSTONE_MS)).toContain(record.id);
        await store.remove(record.id, (await store.get(record.id))?.revision ?? 0);
        await settle(record.id, expiry + TOMBSTONE_MS, Number.MAX_SAFE_INTEGER);
        expect(await dueAt(expiry + 2 * TOMBSTONE_MS)).toEqual([]);
      });

      it('is a job that was cancelled after it was settled, or while it was looked at', async () => {
        const first = await store.create(done());
        await settle(first.record.id, START, START + 2 * HOUR);
        const second = await store.update(cancel(first.record, START), first.revision);
        expect(await dueAt(START)).toContain(first.record.id);
        for await (const due of store.due(START)) {
          await store.update(cancel(second.record, START + 1), (await store.get(first.record.id))?.revision ?? 0);
          await due.settle(START + TOMBSTONE_MS);
        }
        expect(await dueAt(START)).toContain(first.record.id);
      });

      it('is no job whose record was removed', async () => {
        const { record, revision } = await store.create(aRecord());
        await store.remove(record.id, revision);
        expect(await dueAt(START)).toEqual([]);
      });
    });

    describe('a record that cannot be read', () => {
      const damage: Record<string, string> = {
        'of a newer version': JSON.stringify({ ...aRecord({ id: jobId(2) }), version: 2, more: true }),
        'that is not JSON': '{"version":1',
      };
      for (const [which, text] of Object.entries(damage))
        it(`${which} is passed over, and keeps none of the others from what is due`, async () => {
          for (const n of [1, 2, 3]) await store.create(aRecord({ id: jobId(n) }));
          await harness.damage(jobId(2), text);
          await expect(store.get(jobId(2))).rejects.toBeInstanceOf(Unreadable);
          expect((await collect(store.scan())).map(({ record }) => record.id).toSorted()).toEqual([jobId(1), jobId(3)]);
          const due = (await collect(store.due(START))).map(({ id }) => id);
          expect(due).toEqual(expect.arrayContaining([jobId(1), jobId(3)]));
        });
    });

    describe('a lock', () => {
      /** Holds the lock until told to let go. */
      const hold = async (holder: JobStore, lock: string) => {
        const [taken, letGo] = [signalled(), signalled()];
        const ran = holder.withLock(lock, 10_000, async () => {
          taken.resolve();
          await letGo.promise;
        });
        await taken.promise;
        return { letGo: letGo.resolve, ran };
      };
      const tryLock = (by: JobStore, lock = 'upkeep') => by.withLock(lock, 10_000, async () => {});

      it('keeps others out while it is held, and lets them in afterwards', async () => {
        const other = await harness.reopen();
        const { letGo, ran } = await hold(store, 'upkeep');
        expect(await tryLock(other)).toBe(false);
        expect(await tryLock(store)).toBe(false);
        letGo();
        expect(await ran).toBe(true);
        expect(await tryLock(other)).toBe(true);
      });

      it('of one name does not exclude another', async () => {
        const { letGo, ran } = await hold(store, 'upkeep');
        expect(await tryLock(store, 'other')).toBe(true);
        letGo();
        await ran;
      });

      it('is taken by one of many', async () => {
        const stores = [store, await harness.reopen()];
        let inside = 0;
        let most = 0;
        const work = async () => {
          most = Math.max(most, ++inside);
          await new Promise(setImmediate);
          inside--;
        };
        const ran = await Promise.all(Array.from({ length: 20 }, (_, n) => (stores[n % 2] ?? store).withLock('upkeep', 10_000, work)));
        expect(ran.some((it) => it)).toBe(true);
        expect(most).toBe(1);
      });

      it('is free again when the work fails, and the failure is passed on', async () => {
        const failing = store.withLock('upkeep', 10_000, async () => {
          throw new Error('no luck');
        });
        await expect(failing).rejects.toThrow('no luck');
        expect(await tryLock(store)).toBe(true);
      });

      it('of a dead holder is taken over after its time, and not freed by that holder', async () => {
        const other = await harness.reopen();
        const dead = await hold(store, 'upkeep');
        await harness.elapse(9_000);
        expect(await tryLock(other)).toBe(false);
        await harness.elapse(1_001);
        const heir = await hold(other, 'upkeep');
        dead.letGo();
        await dead.ran;
        expect(await tryLock(store)).toBe(false);
        heir.letGo();
        expect(await heir.ran).toBe(true);
      });
    });

    describe('a process that dies', () => {
      it('between reading and writing has written nothing, and cannot once another has', async () => {
        const { record, revision } = await store.create(aRecord());
        const heir = await harness.reopen();
        await heir.update({ ...record, attempt: 'heir' }, (await heir.get(record.id))?.revision ?? 0);
        await expect(store.update({ ...record, attempt: 'dead' }, revision)).rejects.toThrow(RevisionConflict);
        expect((await heir.get(record.id))?.record.attempt).toBe('heir');
      });

      it('before it heard that its record was created, and begins again, learns that it is there', async () => {
        const record = aRecord();
        await store.create(record);
        const again = await harness.reopen();
        await expect(again.create(record)).rejects.toThrow(RevisionConflict);
        expect((await again.get(record.id))?.record).toEqual(record);
      });

      it('before it heard that its update was stored, and begins again, learns what it wrote', async () => {
        const { record, revision } = await store.create(aRecord());
        await store.update({ ...record, attempt: 'mine' }, revision);
        const again = await harness.reopen();
        await expect(again.update({ ...record, attempt: 'mine' }, revision)).rejects.toThrow(RevisionConflict);
        expect((await again.get(record.id))?.record.attempt).toBe('mine');
      });

      it('before it heard that its record was removed may remove it again', async () => {
        const { record, revision } = await store.create(aRecord());
        await store.remove(record.id, revision);
        const again = await harness.reopen();
        await again.remove(record.id, revision);
        expect(await collect(again.scan())).toEqual([]);
      });
    });

    it('keeps every field of a record that has ended', async () => {
      const full: JobRecord = {
        ...aRecord({ state: 'done', attempt: 'a', attempts: 2, startedAt: 1, endedAt: 2, sealed: 's' }),
        engine: { name: 'libvips', version: '8.17' },
        output: { key: 'k', filename: 'f', sizeBytes: 1, contentType: 'image/jpeg', sha256: 'e', files: 1 },
        failure: { reason: 'timeout', message: 'm', details: { deep: [1, { more: null }] } },
      };
      await store.create(full);
      expect((await (await harness.reopen()).get(full.id))?.record).toEqual(full);
    });
  });
}
