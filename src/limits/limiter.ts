/** Admits, refuses and refunds requests, shared by all replicas: reads a client's record, lets `account.ts` decide, and writes it by compare-and-swap. */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure, RevisionConflict } from '../errors.ts';
import { type AccountOutcome, admit, enlarge, holds, refund, release, type Taken } from './account.ts';
import { type LimitRefusal, limitRefusal } from './answers/refusal.ts';
import { type Usage, usageOf } from './answers/usage.ts';
import type { Client } from './clients/client.ts';
import { type ClientRecord, lapsesAt, NEW_CLIENT } from './record.ts';
import type { LimitSettings } from './settings.ts';
import type { LimitStore } from './store.ts';
import { HOUR_MS, type Rules, rulesFor, type Want } from './tiers.ts';

export interface Limiter {
  /** Called once for each request that creates jobs, before its body is read. */
  reserve(client: Client, want: Want): Promise<Granted | LimitRefusal>;
  /** @param jobs all of the request, in place of those that it was admitted with @param tools slugs, one for each further call of a tool. A refusal has refunded the whole reservation. */
  enlarge(reservation: LimitReservation, jobs: readonly string[], tools?: readonly string[]): Promise<Granted | LimitRefusal>;
  /** For a request that ended 400, 413, 415, 501 or 503: refunds all but `cooldown`. Calling it twice is no error. */
  refund(reservation: LimitReservation): Promise<Usage>;
  /** Frees the slots of jobs that have ended. Only a hint: unreported ends are discovered when room is needed. @param key of the client */
  release(key: string, jobs: readonly string[]): Promise<void>;
  usage(client: Client): Promise<Usage>;
}

export interface Granted {
  readonly granted: true;
  readonly reservation: LimitReservation;
  readonly usage: Usage;
}

export interface LimitReservation {
  readonly client: Client;
  readonly taken: Taken;
}

/** The state of a job that holds a slot. */
export type Fate = 'unfinished' | 'ended' | 'unknown';

interface LimiterDeps {
  /** Ms since the epoch. */
  readonly clock: () => number;
  /** Looks up a job: limits know jobs by id only. */
  readonly fateOf: (job: string) => Promise<Fate>;
  /** Tries to write a record before the request gets 503. */
  readonly attempts?: number;
  /** Sleeps between two attempts, ms. */
  readonly wait?: (ms: number) => Promise<unknown>;
  /** From 0 to 1, below 1. */
  readonly random?: () => number;
}

/** At worst every replica writes at once, since each process serialises its own writes: with ten replicas, far fewer attempts are needed. */
const ATTEMPTS = 25;

/** Longest sleep between two attempts, ms: all together take 1.5 s at most. */
const MAX_WAIT_MS = 64;

/** A job that has a slot but no record after this time counts no more, ms: its request has died, or its upload is slower than that. */
const CREATION_MS = HOUR_MS;

/** When a client's quota is used up, only its latest jobs are looked up to see whether they were created. */
const YOUNGEST = 40;

type Decision = (record: ClientRecord, rules: Rules, now: number, pendingJobs: ReadonlySet<string>) => AccountOutcome;
const NO_JOBS: ReadonlySet<string> = new Set();

export function limiterOver(store: LimitStore, settings: LimitSettings, deps: LimiterDeps): Limiter {
  const { clock, fateOf, attempts = ATTEMPTS, wait = pause, random = Math.random } = deps;
  const serialise = serialByKey();

  /**
   * Updates the record by compare-and-swap, with retries. Each attempt reads the clock after the record: an earlier time would be older than
   * what other requests wrote meanwhile, and would set their cooldown back.
   * @throws Failure `OVERLOADED` after too many attempts
   */
  const change = <T extends { readonly record: ClientRecord; readonly changed: boolean }>(
    key: string,
    rules: Rules,
    decide: (record: ClientRecord, now: number) => T,
  ): Promise<T & { readonly now: number }> =>
    serialise(key, async () => {
      for (let attempt = 0; attempt < attempts; attempt++) {
        if (attempt > 0) await wait(random() * Math.min(2 ** attempt, MAX_WAIT_MS));
        const stored = await store.get(key);
        const now = clock();
        const outcome = decide(stored?.record ?? NEW_CLIENT, now);
        if (!outcome.changed) return { ...outcome, now };
        try {
          await store.put(key, outcome.record, stored?.revision, lapsesAt(outcome.record, rules));
          return { ...outcome, now };
        } catch (error) {
          if (!(error instanceof RevisionConflict)) throw error;
        }
      }
      throw new Failure('OVERLOADED', {
        cause: new Error(`client ${key}: ${attempts} attempts to count a request conflicted with others`),
      });
    });

  /**
   * Decides on a request. Where unfinished jobs are in the way, or a quota that requests under way may still refund, looks those jobs up and
   * decides again; the first decision is not stored then.
   */
  const decide = async (client: Client, decision: Decision) => {
    const rules = rulesFor(settings, client);
    const first = await change(client.key, rules, (record, now) => {
      const outcome = decision(record, rules, now, NO_JOBS);
      return mayBeRefunded(outcome) ? { ...outcome, changed: false } : outcome;
    });
    if (!isFull(first) && !mayBeRefunded(first)) return answer(client, rules, first);
    const { ended, pendingJobs } = await fatesIn(isFull(first) ? first.record.slots : first.record.slots.slice(-YOUNGEST), first.now);
    if (isFull(first) && ended.length === 0) return answer(client, rules, first);
    const second = await change(client.key, rules, (record, now) => decision(release(record, ended), rules, now, pendingJobs));
    return answer(client, rules, second);
  };

  const fatesIn = async (slots: ClientRecord['slots'], now: number): Promise<{ ended: string[]; pendingJobs: ReadonlySet<string> }> => {
    const fates = await Promise.all(slots.map(async ({ job, at }) => ({ job, isOld: now >= at + CREATION_MS, fate: await fateOf(job) })));
    return {
      ended: fates.filter(({ isOld, fate }) => fate === 'ended' || (fate === 'unknown' && isOld)).map(({ job }) => job),
      pendingJobs: new Set(fates.filter(({ isOld, fate }) => fate === 'unknown' && !isOld).map(({ job }) => job)),
    };
  };

  const refundReservation = async ({ client, taken }: LimitReservation): Promise<Usage> => {
    const rules = rulesFor(settings, client);
    const { record, now } = await change(client.key, rules, (found, at) => ({
      record: refund(found, taken, rules, at),
      changed: holds(found, taken),
    }));
    return usageOf(record, rules, now);
  };

  return {
    reserve: (client, want) => decide(client, (record, rules, now, pendingJobs) => admit(record, want, rules, now, pendingJobs)),

    async enlarge(reservation, jobs, tools = []) {
      const { client, taken } = reservation;
      const decided = await decide(client, (record, rules, now, pendingJobs) =>
        enlarge(record, taken, jobs, rules, now, pendingJobs, tools),
      );
      return decided.granted ? decided : { ...decided, usage: await refundReservation(reservation) };
    },

    refund: refundReservation,

    async release(key, jobs) {
      // The client's multiple is unknown here; it only affects how long an expired cooldown is kept.
      const rules = rulesFor(settings, { multiple: 1, bannable: true });
      await change(key, rules, (found) => {
        const record = release(found, jobs);
        return { record, changed: record.slots.length < found.slots.length };
      });
    },

    async usage(client) {
      const stored = await store.get(client.key);
      return usageOf(stored?.record ?? NEW_CLIENT, rulesFor(settings, client), clock());
    },
  };
}

const isFull = ({ verdict }: AccountOutcome): boolean => verdict.is === 'limited' && verdict.tier === 'concurrent';

/** Whether a quota refuses although requests under way may still be refunded. */
const mayBeRefunded = ({ verdict, record }: AccountOutcome): boolean =>
  verdict.is === 'limited' && verdict.tier !== 'cooldown' && verdict.tier !== 'concurrent' && record.slots.length > 0;

function answer(client: Client, rules: Rules, { verdict, record, now }: AccountOutcome & { readonly now: number }): Granted | LimitRefusal {
  const usage = usageOf(record, rules, now);
  if (verdict.is === 'admitted') return { granted: true, reservation: { client, taken: verdict.taken }, usage };
  return limitRefusal(verdict, usage, now);
}

/** Runs work for one key at a time: concurrent requests of one client would only make each other's compare-and-swap fail. */
function serialByKey(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}
