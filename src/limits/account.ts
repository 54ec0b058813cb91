/** What a client's request meets, given what is remembered of the client: no I/O, no clock of its own. */
import { type ClientRecord, settle, type Window } from './record.ts';
import { isPending, judge, reject } from './rejections.ts';
import { costs, type Quota, type Rules, type Tier, type Want } from './tiers.ts';

/** What an admitted request took, so that it can be given back. */
export interface Taken {
  readonly jobs: readonly string[];
  readonly charges: readonly Charge[];
}

interface Charge {
  readonly window: string;
  readonly cost: number;
  /** When it was charged, ms since the epoch. */
  readonly at: number;
}

/** The limit that refuses, and how long until it has room, ms. */
export interface Limited<T extends string = Tier | 'concurrent'> {
  readonly is: 'limited';
  readonly tier: T;
  readonly limit: number;
  readonly waitMs: number;
}

/** @see exhausted */
type Refusal = Limited<Tier> & { readonly isReserved?: boolean };

export interface Banned {
  readonly is: 'banned';
  /** Ms since the epoch. */
  readonly until: number;
}

export type Verdict = { readonly is: 'admitted'; readonly taken: Taken } | Limited | Banned;

export interface Outcome {
  readonly verdict: Verdict;
  /** The client as it is now. */
  readonly record: ClientRecord;
  /** Whether the verdict must be remembered. */
  readonly changed: boolean;
}

/** When to try again for a job to end, which nobody can know, ms. */
const JOB_ENDS_MS = 5_000;

/** The same for a request to end that may give back what it took, ms. */
const REQUEST_ENDS_MS = 5_000;

const NONE: ReadonlySet<string> = new Set();

/**
 * A working request, before its body is read.
 * @param making jobs that are known not to be there yet: their requests may still give back what they took
 */
export function admit(found: ClientRecord, want: Want, rules: Rules, now: number, making: ReadonlySet<string> = NONE): Outcome {
  const record = settle(found, rules, now);
  if (record.bannedUntil !== undefined && rules.bannable) return banned(record, record.bannedUntil, false);
  const rejections = judge(record.rejections, now);
  const heard = { ...record, rejections };
  if (rejections.length > rules.rejections && rules.bannable) return banned(heard, now + rules.banMs, true);

  const wanted = costs(want, rules);
  const refusals = [...(want.via === 'rest' ? cooldown(record, rules, now) : []), ...exhausted(record, wanted, now, making)];
  if (refusals.length > 0) return rejected(heard, refusals, rules, now);
  if (record.slots.length + want.jobs.length > rules.concurrent) {
    return { verdict: full(rules), record: heard, changed: isPending(record.rejections) };
  }

  const charges = wanted.map(({ quota, cost }) => ({ window: quota.window, cost, at: now }));
  const admitted: ClientRecord = {
    ...heard,
    windows: charge(heard.windows, charges),
    ...(want.via === 'rest' && { admittedAt: now }),
    slots: [...heard.slots, ...want.jobs.map((job, index) => ({ job, at: now, charged: chargedBy(index, charges) }))],
  };
  return { verdict: { is: 'admitted', taken: { jobs: want.jobs, charges } }, record: admitted, changed: true };
}

/**
 * An admitted request turns out to hold more files than was known from its headers. It is one request still: neither `hourly` nor `cooldown`
 * nor a ban that came meanwhile concerns it. Where `daily` has no room for all, what it took before is given back; where only jobs stand in the
 * way it keeps that, as some may turn out to have ended.
 */
export function enlarge(
  found: ClientRecord,
  taken: Taken,
  more: readonly string[],
  rules: Rules,
  now: number,
  making: ReadonlySet<string> = NONE,
): Outcome {
  const record = settle(found, rules, now);
  const wanted = [{ quota: rules.daily, cost: more.length }];
  const others = new Set([...making].filter((job) => !taken.jobs.includes(job)));
  const refusals = exhausted(record, wanted, now, others);
  if (refusals.length > 0) return rejected(refund(record, taken, rules, now), refusals, rules, now);
  if (record.slots.length + more.length > rules.concurrent) return { verdict: full(rules), record, changed: false };
  const added = [{ window: rules.daily.window, cost: more.length, at: now }];
  const larger: Taken = { jobs: [...taken.jobs, ...more], charges: [...taken.charges, ...added] };
  const slots = [...record.slots, ...more.map((job) => ({ job, at: now, charged: [rules.daily.window] }))];
  return {
    verdict: { is: 'admitted', taken: larger },
    record: { ...record, windows: charge(record.windows, added), slots },
    changed: true,
  };
}

/**
 * Gives back what a request took, but not its `cooldown`. Its slots tell whether that was done before, so that an attempt whose answer was
 * lost may be repeated. A charge to a window that has ended went with it.
 */
export function refund(found: ClientRecord, { jobs, charges }: Taken, rules: Rules, now: number): ClientRecord {
  const record = settle(found, rules, now);
  if (!holds(record, { jobs })) return record;
  const windows = { ...record.windows };
  for (const { window, cost, at } of charges) {
    const open = windows[window];
    if (open !== undefined && open.since <= at) windows[window] = { since: open.since, used: Math.max(0, open.used - cost) };
  }
  return { ...release(record, jobs), windows };
}

/** Whether something of it has not been given back. */
export const holds = ({ slots }: ClientRecord, { jobs }: Pick<Taken, 'jobs'>): boolean => slots.some(({ job }) => jobs.includes(job));

/** These jobs have ended. */
export const release = (record: ClientRecord, jobs: readonly string[]): ClientRecord => ({
  ...record,
  slots: record.slots.filter(({ job }) => !jobs.includes(job)),
});

function cooldown({ admittedAt }: ClientRecord, { cooldownMs }: Rules, now: number): Limited<Tier>[] {
  const waitMs = admittedAt === undefined ? 0 : admittedAt + cooldownMs - now;
  return waitMs > 0 ? [{ is: 'limited', tier: 'cooldown', limit: 1, waitMs }] : [];
}

/** A quota that has room but for requests under way is one to wait for, not one that was used up. */
function exhausted(
  { windows, slots }: ClientRecord,
  wanted: readonly { readonly quota: Quota; readonly cost: number }[],
  now: number,
  making: ReadonlySet<string>,
): Refusal[] {
  return wanted.flatMap(({ quota, cost }): Refusal[] => {
    const { tier, limit, window, ms } = quota;
    const { since, used } = windows[window] ?? { since: now, used: 0 };
    if (used + cost <= limit) return [];
    const reserved = slots.filter(({ job, charged }) => making.has(job) && charged?.includes(window) === true).length;
    const untilReset = since + ms - now;
    if (used - reserved + cost > limit) return [{ is: 'limited', tier, limit, waitMs: untilReset }];
    return [{ is: 'limited', tier, limit, waitMs: Math.min(REQUEST_ENDS_MS, untilReset), isReserved: true }];
  });
}

/** Of a request's jobs the first stands for the request, the others for themselves. */
const chargedBy = (index: number, charges: readonly Charge[]): string[] =>
  charges.filter(({ cost }) => index < cost).map(({ window }) => window);

/**
 * Names the limit that lasts longest: who waits for a shorter one would be refused again. Nothing is charged but the rejection, and not that
 * where nothing but requests under way stand in the way: they may end in a refusal of their own.
 */
function rejected(record: ClientRecord, refusals: readonly Refusal[], rules: Rules, now: number): Outcome {
  const { isReserved = false, ...verdict } = refusals.reduce((longest, refusal) => (refusal.waitMs > longest.waitMs ? refusal : longest));
  if (isReserved) return { verdict, record, changed: true };
  const rejections = reject(record.rejections, verdict.tier, verdict.waitMs, now, rules.rejections + 1);
  return { verdict, record: { ...record, rejections }, changed: true };
}

const full = ({ concurrent }: Rules): Verdict => ({ is: 'limited', tier: 'concurrent', limit: concurrent, waitMs: JOB_ENDS_MS });

const banned = (record: ClientRecord, until: number, changed: boolean): Outcome => ({
  verdict: { is: 'banned', until },
  record: { ...record, bannedUntil: until },
  changed,
});

/** A window opens with the first request that counts in it. */
function charge(windows: ClientRecord['windows'], charges: readonly Charge[]): Record<string, Window> {
  const charged = { ...windows };
  for (const { window, cost, at } of charges) {
    const { since, used } = charged[window] ?? { since: at, used: 0 };
    charged[window] = { since, used: used + cost };
  }
  return charged;
}
