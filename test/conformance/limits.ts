/** What every store of limits must hold to, and the limiter over it, whatever keeps it. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { RevisionConflict } from '../../src/errors.ts';
import type { LimitRefusal } from '../../src/limits/answers/refusal.ts';
import type { Client } from '../../src/limits/clients/client.ts';
import { type Fate, type Granted, type Limiter, type LimitReservation, limiterOver } from '../../src/limits/limiter.ts';
import { type ClientRecord, NEW_CLIENT } from '../../src/limits/record.ts';
import { limitSettings } from '../../src/limits/settings.ts';
import type { LimitStore } from '../../src/limits/store.ts';
import { HOUR, START, someId } from './samples.ts';

export interface LimitsHarness {
  readonly store: LimitStore;
  /** A second replica's view of the same store; the first was not closed, as after a crash. */
  reopen(): Promise<LimitStore>;
  /** Ms since the epoch, for stores and limiters alike. */
  readonly clock: () => number;
  elapse(ms: number): Promise<void>;
  close(): Promise<void>;
}

export const aClient = (change: Partial<Client> = {}): Client => ({
  key: someId(),
  network: '203.0.113.7',
  multiple: 1,
  bannable: true,
  ...change,
});

const aRecord = (used: number): ClientRecord => ({ ...NEW_CLIENT, windows: { daily: { since: START, used } } });
const wantOf = (jobs: number) => ({ via: 'rest' as const, jobs: Array.from({ length: jobs }, someId) });
/** All jobs of a request that turns out to have so many more. */
const grownBy = ({ taken }: LimitReservation, jobs: number): readonly string[] => [...taken.jobs, ...wantOf(jobs).jobs];

export function limitsSuite(name: string, open: () => Promise<LimitsHarness>): void {
  describe(`limits in ${name}`, () => {
    let harness: LimitsHarness;
    let store: LimitStore;
    /** What the limiters learn of jobs; those without an entry are unfinished. */
    let fates: Map<string, Fate>;
    const client = aClient();
    const lapse = START + HOUR;

    beforeEach(async () => {
      harness = await open();
      store = harness.store;
      fates = new Map();
    });
    afterEach(() => harness.close());

    const limiter = (over: LimitStore, change: z.input<typeof limitSettings> = {}): Limiter =>
      limiterOver(over, limitSettings.parse({ cooldownMs: 0, ...change }), {
        clock: harness.clock,
        fateOf: async (job) => fates.get(job) ?? 'unfinished',
      });

    describe('a record', () => {
      it('that never was is undefined', async () => expect(await store.get(client.key)).toBeUndefined());

      it('is read as it was written', async () => {
        await store.put(client.key, aRecord(1), undefined, lapse);
        expect((await store.get(client.key))?.record).toEqual(aRecord(1));
      });

      it('is created by one of many that find none', async () => {
        const tries = Array.from({ length: 20 }, (_, n) => store.put(client.key, aRecord(n), undefined, lapse));
        expect((await Promise.allSettled(tries)).filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        await expect(store.put(client.key, aRecord(99), undefined, lapse)).rejects.toThrow(RevisionConflict);
      });

      it('is changed by its latest revision only', async () => {
        await store.put(client.key, aRecord(1), undefined, lapse);
        const first = await store.get(client.key);
        await store.put(client.key, aRecord(2), first?.revision, lapse);
        await expect(store.put(client.key, aRecord(3), first?.revision, lapse)).rejects.toThrow(RevisionConflict);
        expect((await store.get(client.key))?.record).toEqual(aRecord(2));
      });

      it('of one client is none of another’s', async () => {
        await store.put(client.key, aRecord(1), undefined, lapse);
        const other = aClient();
        await store.put(other.key, aRecord(2), undefined, lapse);
        expect((await store.get(client.key))?.record).toEqual(aRecord(1));
      });

      it('is among all of them, each once', async () => {
        const keys = Array.from({ length: 150 }, someId);
        for (const [n, key] of keys.entries()) await store.put(key, aRecord(n), undefined, lapse);
        const found = new Map<string, ClientRecord>();
        for await (const { key, record } of store.scan()) {
          expect(found.has(key)).toBe(false);
          found.set(key, record);
        }
        expect([...found.keys()].toSorted()).toEqual(keys.toSorted());
        expect(found.get(keys[7] ?? '')).toEqual(aRecord(7));
      });

      it('is seen at once by another replica, and outlives a process that ended without closing', async () => {
        const other = await harness.reopen();
        await store.put(client.key, aRecord(1), undefined, lapse);
        const seen = await other.get(client.key);
        await other.put(client.key, aRecord(2), seen?.revision, lapse);
        expect((await (await harness.reopen()).get(client.key))?.record).toEqual(aRecord(2));
      });
    });

    describe('reservations', () => {
      it('from two replicas at once never pass the limit, and none is lost', async () => {
        const change = { daily: 60, rejections: 1_000, concurrent: 1_000 };
        const replicas = [limiter(store, change), limiter(await harness.reopen(), change)] as const;
        const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => replicas[n % 2 === 0 ? 0 : 1].reserve(client, wantOf(1))));
        expect(answers.filter(({ granted }) => granted)).toHaveLength(60);
        expect(await replicas[0].usage(client)).toMatchObject({ daily: { used: 60, remaining: 0 }, rejectionsLastHour: 40 });
      });

      it('and refunds from two replicas at once come out even', async () => {
        const replicas = [limiter(store, { concurrent: 1_000 }), limiter(await harness.reopen(), { concurrent: 1_000 })] as const;
        const work = async (n: number) => {
          const answer = granted(await replicas[n % 2 === 0 ? 0 : 1].reserve(client, wantOf(1)));
          if (n % 3 !== 0) await replicas[n % 2 === 0 ? 1 : 0].refund(answer.reservation);
        };
        await Promise.all(Array.from({ length: 60 }, (_, n) => work(n)));
        expect(await replicas[0].usage(client)).toMatchObject({ daily: { used: 20 }, hourly: { used: 20 } });
        expect((await store.get(client.key))?.record.slots).toHaveLength(20);
      });

      it('that waited in line are judged by the time at which it is their turn', async () => {
        const held = Promise.withResolvers<void>();
        let isHeld = true;
        const slow: LimitStore = {
          ...store,
          get: async (key) => {
            if (isHeld) await held.promise;
            isHeld = false;
            return store.get(key);
          },
        };
        const change = { cooldownMs: 1_000 };
        const [first, second] = [limiter(slow, change), limiter(await harness.reopen(), change)];
        const inLine = [first.reserve(client, wantOf(1)), first.reserve(client, wantOf(1))];
        await harness.elapse(1_000);
        granted(await second.reserve(client, wantOf(1)));
        await harness.elapse(100);
        held.resolve();
        for (const answer of inLine) expect(refused(await answer).details).toMatchObject({ tier: 'cooldown', reset_seconds: 1 });
        await harness.elapse(200);
        refused(await second.reserve(client, wantOf(1)));
        await harness.elapse(700);
        granted(await first.reserve(client, wantOf(1)));
      });

      it('that may be given back yet refuse others for seconds, without a rejection', async () => {
        const limited = limiter(store, { hourly: 2, daily: 5 });
        const [made, making] = [wantOf(1), wantOf(1)];
        for (const want of [made, making]) granted(await limited.reserve(client, want));
        fates.set(String(making.jobs[0]), 'unknown');
        const { details, retryAfterSeconds } = refused(await limited.reserve(client, wantOf(1)));
        expect(details).toMatchObject({ tier: 'hourly', limit: 2, rejections_last_hour: 0 });
        expect(retryAfterSeconds).toBe(5);
        fates.set(String(making.jobs[0]), 'unfinished');
        expect(refused(await limited.reserve(client, wantOf(1)))).toMatchObject({
          details: { rejections_last_hour: 1 },
          retryAfterSeconds: 3_600,
        });
      });

      it('for assistants make no room for those by REST, nor for more files than they took', async () => {
        const limited = limiter(store, { daily: 5 });
        const [rest, assistant] = [wantOf(4), wantOf(1)];
        granted(await limited.reserve(client, rest));
        granted(await limited.reserve(client, { ...assistant, via: 'mcp' }));
        for (const job of [...rest.jobs, ...assistant.jobs]) fates.set(job, 'unknown');
        expect(refused(await limited.reserve(client, wantOf(6))).details).toMatchObject({ tier: 'daily', reset_seconds: 86_400 });
        for (const job of rest.jobs) fates.set(job, 'unfinished');
        expect(refused(await limited.reserve(client, wantOf(2))).details).toMatchObject({ tier: 'daily', reset_seconds: 86_400 });
      });

      it('of one replica hold in another and after a restart, ban included', async () => {
        const first = limiter(store, { hourly: 1 });
        await first.reserve(client, wantOf(1));
        for (let n = 0; n < 11; n++) await first.reserve(client, wantOf(1));
        const restarted = limiter(await harness.reopen(), { hourly: 1 });
        const answer = refused(await restarted.reserve(client, wantOf(1)));
        expect(answer).toMatchObject({ code: 'BANNED', retryAfterSeconds: 86_400 });
        await harness.elapse(23 * HOUR);
        const again = refused(await limiter(await harness.reopen(), { hourly: 1 }).reserve(client, wantOf(1)));
        expect(again.details).toEqual(answer.details);
        await harness.elapse(HOUR);
        granted(await restarted.reserve(client, wantOf(1)));
      });

      it('of one client use nothing of another’s', async () => {
        const limited = limiter(store, { daily: 1 });
        granted(await limited.reserve(client, wantOf(1)));
        refused(await limited.reserve(client, wantOf(1)));
        granted(await limited.reserve(aClient(), wantOf(1)));
      });

      it('are refunded once, though another process refunds them again', async () => {
        const limited = limiter(store);
        await limited.reserve(client, wantOf(1));
        const { reservation } = granted(await limited.reserve(client, wantOf(3)));
        await limited.refund(reservation);
        expect(await limiter(await harness.reopen()).refund(reservation)).toMatchObject({ daily: { used: 1 }, hourly: { used: 1 } });
      });

      it('grow by the files of a batch, and are given back whole where that does not fit', async () => {
        const limited = limiter(store, { daily: 10 });
        const { reservation } = granted(await limited.reserve(client, wantOf(1)));
        const grown = granted(await limited.enlarge(reservation, grownBy(reservation, 4)));
        expect(grown.usage).toMatchObject({ daily: { used: 5 }, hourly: { used: 1 } });
        const next = granted(await limited.reserve(client, wantOf(1)));
        const answer = refused(await limited.enlarge(next.reservation, grownBy(next.reservation, 5)));
        expect(answer).toMatchObject({ code: 'RATE_LIMITED', details: { tier: 'daily', limit: 10, rejections_last_hour: 1 } });
        expect(answer.usage).toMatchObject({ daily: { used: 5 }, hourly: { used: 1 } });
        expect((await limited.refund(grown.reservation)).daily.used).toBe(0);
      });
    });

    describe('the places of unfinished jobs', () => {
      it('are free again as soon as an end is reported, to any replica', async () => {
        const limited = limiter(store, { concurrent: 2 });
        const want = wantOf(2);
        await limited.reserve(client, want);
        expect(refused(await limited.reserve(client, wantOf(1))).details).toMatchObject({
          tier: 'concurrent',
          limit: 2,
          rejections_last_hour: 0,
        });
        await limiter(await harness.reopen()).release(client.key, want.jobs.slice(0, 1));
        granted(await limited.reserve(client, wantOf(1)));
      });

      it('are found free when needed, though no process reported the end', async () => {
        const limited = limiter(store, { concurrent: 2 });
        const [one, two] = [wantOf(1), wantOf(1)];
        for (const want of [one, two]) granted(await limited.reserve(client, want));
        fates.set(String(one.jobs[0]), 'ended');
        const restarted = limiter(await harness.reopen(), { concurrent: 2 });
        granted(await restarted.reserve(client, wantOf(1)));
        refused(await restarted.reserve(client, wantOf(1)));
      });

      it('are kept for an hour for jobs still in the making, then taken from a maker that died', async () => {
        const limited = limiter(store, { concurrent: 1 });
        const want = wantOf(1);
        granted(await limited.reserve(client, want));
        fates.set(String(want.jobs[0]), 'unknown');
        const restarted = limiter(await harness.reopen(), { concurrent: 1 });
        refused(await restarted.reserve(client, wantOf(1)));
        await harness.elapse(HOUR);
        granted(await restarted.reserve(client, wantOf(1)));
      });

      it('are enough for a batch once its predecessors ended, and a batch without places is given back', async () => {
        const limited = limiter(store, { concurrent: 5 });
        const earlier = wantOf(4);
        granted(await limited.reserve(client, earlier));
        const { reservation } = granted(await limited.reserve(client, wantOf(1)));
        const answer = refused(await limited.enlarge(reservation, grownBy(reservation, 2)));
        expect(answer).toMatchObject({
          details: { tier: 'concurrent', rejections_last_hour: 0 },
          usage: { daily: { used: 4 }, hourly: { used: 1 } },
        });
        const second = granted(await limited.reserve(client, wantOf(1)));
        for (const job of earlier.jobs) fates.set(job, 'ended');
        expect(granted(await limited.enlarge(second.reservation, grownBy(second.reservation, 2))).usage).toMatchObject({
          daily: { used: 7 },
          hourly: { used: 2 },
        });
        expect((await store.get(client.key))?.record.slots).toHaveLength(3);
      });

      it('are never more than the limit, however many ask at once', async () => {
        const replicas = [limiter(store), limiter(await harness.reopen())] as const;
        const answers = await Promise.all(Array.from({ length: 70 }, (_, n) => replicas[n % 2 === 0 ? 0 : 1].reserve(client, wantOf(1))));
        expect(answers.filter(({ granted }) => granted)).toHaveLength(40);
        expect((await replicas[0].usage(client)).rejectionsLastHour).toBe(0);
      });
    });

    describe('a crash', () => {
      it('after a reservation costs the client that request, and no place for ever', async () => {
        granted(await limiter(store, { concurrent: 1 }).reserve(client, wantOf(1)));
        const restarted = limiter(await harness.reopen(), { concurrent: 1 });
        expect(await restarted.usage(client)).toMatchObject({ daily: { used: 1 } });
        await harness.elapse(6 * HOUR);
        granted(await restarted.reserve(client, wantOf(1)));
      });

      it('before a reservation is stored costs nothing', async () => {
        const dying = limiter({ ...store, put: () => Promise.reject(new Error('killed')) });
        await expect(dying.reserve(client, wantOf(1))).rejects.toThrow('killed');
        expect(await store.get(client.key)).toBeUndefined();
      });

      it('of the store right after it kept a refund does not keep the refund from being repeated', async () => {
        const { reservation } = granted(await limiter(store).reserve(client, wantOf(1)));
        await limiter(store).reserve(client, wantOf(1));
        const answerless: LimitStore = {
          ...store,
          put: async (...all) => {
            await store.put(...all);
            throw new Error('timeout');
          },
        };
        await expect(limiter(answerless).refund(reservation)).rejects.toThrow('timeout');
        expect((await limiter(store).refund(reservation)).daily.used).toBe(1);
      });

      it('of one request does not hold up the client’s next', async () => {
        let deaths = 1;
        const limited = limiter({ ...store, put: (...all) => (deaths-- > 0 ? Promise.reject(new Error('killed')) : store.put(...all)) });
        const [first, second] = await Promise.allSettled([limited.reserve(client, wantOf(1)), limited.reserve(client, wantOf(1))]);
        expect(first.status).toBe('rejected');
        expect(second).toMatchObject({ status: 'fulfilled', value: { granted: true, usage: { daily: { used: 1 } } } });
      });
    });

    describe('a storm of conflicts', () => {
      const stormy = (conflicts: number) => {
        const waits: number[] = [];
        const storm: LimitStore = {
          ...store,
          // Another replica comes between each reading and writing.
          put: async (key, record, revision, until) => {
            if (conflicts-- > 0) {
              const found = await store.get(key);
              await store.put(key, found?.record ?? NEW_CLIENT, found?.revision, until);
            }
            await store.put(key, record, revision, until);
          },
        };
        const limited = limiterOver(storm, limitSettings.parse({}), {
          clock: harness.clock,
          fateOf: async () => 'unfinished',
          random: () => 0.999,
          wait: async (ms) => void waits.push(ms),
        });
        return { limited, waits };
      };

      it('is not made by the requests of one replica among themselves', async () => {
        const { limited, waits } = stormy(0);
        await Promise.all(Array.from({ length: 100 }, () => limited.reserve(client, { ...wantOf(0), via: 'mcp' })));
        expect((await limited.usage(client)).mcp.used).toBe(100);
        expect(waits).toEqual([]);
      });

      it('that ends is passed, and the request counted once', async () => {
        const { limited, waits } = stormy(10);
        expect(granted(await limited.reserve(client, wantOf(1))).usage.daily.used).toBe(1);
        expect(waits).toHaveLength(10);
      });

      it('that does not end is left within two seconds, with 503 and nothing charged', async () => {
        const { limited, waits } = stormy(Number.POSITIVE_INFINITY);
        await expect(limited.reserve(client, wantOf(1))).rejects.toMatchObject({ code: 'OVERLOADED', status: 503 });
        expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(2_000);
        expect(await limited.usage(client)).toMatchObject({ daily: { used: 0 }, rejectionsLastHour: 0 });
      });
    });
  });
}

function granted(answer: Granted | LimitRefusal): Granted {
  if (!answer.granted) throw new Error(`expected to be granted, was refused: ${answer.says}`);
  return answer;
}

function refused(answer: Granted | LimitRefusal): LimitRefusal {
  if (answer.granted) throw new Error('expected to be refused, was granted');
  return answer;
}
