/** Admits, refuses and gives back, for every replica at once: reads a client's record, lets the account decide, and swaps the record. */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure, RevisionConflict } from '../errors.ts';
import { admit, enlarge, holds, type Outcome, refund, release, type Taken } from './account.ts';
import type { Client } from './client.ts';
import { type ClientRecord, lapsesAt, NEW_CLIENT } from './record.ts';
import { type Refused, refusal } from './refusal.ts';
import type { LimitSettings } from './settings.ts';
import type { LimitStore } from './store.ts';
import { HOUR_MS, type Rules, rulesFor, type Want } from './tiers.ts';
import { type Usage, usageOf } from './usage.ts';

export interface Limiter {
  /** Asked once for each request that makes work, before its body is read. */
  reserve(client: Client, want: Want): Promise<Granted | Refused>;
  /** The admitted request makes these jobs too. A refusal has given back all that the reservation held. */
  enlarge(reservation: Reservation, more: readonly string[]): Promise<Granted | Refused>;
  /** For a request that ended 400, 413, 415, 501 or 503: all but `cooldown` comes back. Doing it twice is no error. */
  refund(reservation: Reservation): Promise<Usage>;
  /** Jobs of this client have ended. A hint: those that nobody reports are found out when room is needed. @param key of the client */
  release(key: string, jobs: readonly string[]): Promise<void>;
  usage(client: Client): Promise<Usage>;
}

export interface Granted {
  readonly granted: true;
  readonly reservation: Reservation;
  readonly usage: Usage;
}

export interface Reservation {
  readonly client: Client;
  readonly taken: Taken;
}

/** What has become of a job whose slot is wanted. */
export type Fate = 'unfinished' | 'ended' | 'unknown';

interface Surroundings {
  /** Ms since the epoch. */
  readonly clock: () => number;
  /** Reads a job: limits know jobs by their ids alone. */
  readonly fateOf: (job: string) => Promise<Fate>;
  /** How often a change is tried before the request gets 503. */
  readonly attempts?: number;
  /** Waits between two attempts, ms. */
  readonly wait?: (ms: number) => Promise<unknown>;
  /** From 0 to 1, below 1. */
  readonly random?: () => number;
}

/** A writer of each replica at once is the worst, as a process lets its own wait in line: with ten, far fewer are needed. */
const ATTEMPTS = 25;

/** Longest wait between two attempts, ms: all of them together take 1.5 s at most. */
const LONGEST_WAIT_MS = 64;

/** A job that has a slot and no record for so long has lost its maker; a slower upload is counted no more, ms. */
const MAKING_MS = HOUR_MS;

/** Of a client whose quota is used up, so many jobs are read to see whether they have been made: those of the requests that came last. */
const YOUNGEST = 40;

type Decision = (record: ClientRecord, rules: Rules, now: number, making: ReadonlySet<string>) => Outcome;
const NOBODY: ReadonlySet<string> = new Set();

export function limiterOver(store: LimitStore, settings: LimitSettings, surroundings: Surroundings): Limiter {
  const { clock, fateOf, attempts = ATTEMPTS, wait = pause, random = Math.random } = surroundings;
  const inLine = lines();

  /**
   * Swaps the record until nobody came between. The time is read beside the record, in each attempt: one from before the wait in line is
   * older than what others wrote meanwhile, and would set their cooldown back.
   * @throws Failure OVERLOADED after too many attempts
   */
  const change = <T extends { readonly record: ClientRecord; readonly changed: boolean }>(
    key: string,
    rules: Rules,
    decide: (record: ClientRecord, now: number) => T,
  ): Promise<T & { readonly now: number }> =>
    inLine(key, async () => {
      for (let attempt = 0; attempt < attempts; attempt++) {
        if (attempt > 0) await wait(random() * Math.min(2 ** attempt, LONGEST_WAIT_MS));
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
      throw new Failure('OVERLOADED', { cause: new Error(`client ${key}: ${attempts} attempts to count a request met another's`) });
    });

  /**
   * Decides, and where jobs stand in the way, or a quota that requests under way may give back, looks what has become of those and decides
   * again. What is not stored the first time is stored the second.
   */
  const decide = async (client: Client, decision: Decision) => {
    const rules = rulesFor(settings, client);
    const first = await change(client.key, rules, (record, now) => {
      const outcome = decision(record, rules, now, NOBODY);
      return mayBeInTheMaking(outcome) ? { ...outcome, changed: false } : outcome;
    });
    if (!isFull(first) && !mayBeInTheMaking(first)) return answer(client, rules, first);
    const { ended, making } = await fatesIn(isFull(first) ? first.record.slots : first.record.slots.slice(-YOUNGEST), first.now);
    if (isFull(first) && ended.length === 0) return answer(client, rules, first);
    const second = await change(client.key, rules, (record, now) => decision(release(record, ended), rules, now, making));
    return answer(client, rules, second);
  };

  const fatesIn = async (slots: ClientRecord['slots'], now: number): Promise<{ ended: string[]; making: ReadonlySet<string> }> => {
    const fates = await Promise.all(slots.map(async ({ job, at }) => ({ job, isOld: now >= at + MAKING_MS, fate: await fateOf(job) })));
    return {
      ended: fates.filter(({ isOld, fate }) => fate === 'ended' || (fate === 'unknown' && isOld)).map(({ job }) => job),
      making: new Set(fates.filter(({ isOld, fate }) => fate === 'unknown' && !isOld).map(({ job }) => job)),
    };
  };

  const giveBack = async ({ client, taken }: Reservation): Promise<Usage> => {
    const rules = rulesFor(settings, client);
    const { record, now } = await change(client.key, rules, (found, at) => ({
      record: refund(found, taken, rules, at),
      changed: holds(found, taken),
    }));
    return usageOf(record, rules, now);
  };

  return {
    reserve: (client, want) => decide(client, (record, rules, now, making) => admit(record, want, rules, now, making)),

    async enlarge(reservation, more) {
      const { client, taken } = reservation;
      const decided = await decide(client, (record, rules, now, making) => enlarge(record, taken, more, rules, now, making));
      return decided.granted ? decided : { ...decided, usage: await giveBack(reservation) };
    },

    refund: giveBack,

    async release(key, jobs) {
      // Which multiple the client has only decides how long an empty cooldown is kept.
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

const isFull = ({ verdict }: Outcome): boolean => verdict.is === 'limited' && verdict.tier === 'concurrent';

/** Whether a quota refuses that some of the client's requests may not have used for good. */
const mayBeInTheMaking = ({ verdict, record }: Outcome): boolean =>
  verdict.is === 'limited' && verdict.tier !== 'cooldown' && verdict.tier !== 'concurrent' && record.slots.length > 0;

function answer(client: Client, rules: Rules, { verdict, record, now }: Outcome & { readonly now: number }): Granted | Refused {
  const usage = usageOf(record, rules, now);
  if (verdict.is === 'admitted') return { granted: true, reservation: { client, taken: verdict.taken }, usage };
  return refusal(verdict, usage, now);
}

/** One at a time for each name: requests of one client that meet in this process would only spoil each other's swaps. */
function lines(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work, work);
    last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (last.get(name) === mine) last.delete(name);
    }
  };
}
