/** Decides on a client's request, given the client's record. Pure: no I/O and no clock. */
import { type ClientRecord, settle, type Window } from './record.ts';
import { isPending, judge, reject } from './rejections.ts';
import { aiQuota, costs, type Quota, type Rules, type Tier, type Want } from './tiers.ts';

/** What an admitted request took, so that it can be refunded. */
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

/** The limit that refuses, and the time until it has room, ms. */
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

export interface AccountOutcome {
  readonly verdict: Verdict;
  /** The client as it is now. */
  readonly record: ClientRecord;
  /** Whether the verdict must be remembered. */
  readonly changed: boolean;
}

/** When to retry while jobs are unfinished, ms: it is unknown when one will end. */
const JOB_RETRY_MS = 5_000;

/** When to retry while a request is under way that may still be refunded, ms. */
const REQUEST_RETRY_MS = 5_000;

const NO_JOBS: ReadonlySet<string> = new Set();

/**
 * Decides on a request that creates jobs, before its body is read.
 * @param pendingJobs jobs known to have no record yet: their requests may still be refunded
 */
export function admit(
  found: ClientRecord,
  want: Want,
  rules: Rules,
  now: number,
  pendingJobs: ReadonlySet<string> = NO_JOBS,
): AccountOutcome {
  const record = settle(found, rules, now);
  if (record.bannedUntil !== undefined && rules.bannable) return banned(record, record.bannedUntil, false);
  const rejections = judge(record.rejections, now);
  const judged = { ...record, rejections };
  if (rejections.length > rules.rejections && rules.bannable) return banned(judged, now + rules.banMs, true);

  const wanted = costs(want, rules);
  const refusals = [...(want.via === 'rest' ? cooldown(record, rules, now) : []), ...exhausted(record, wanted, now, pendingJobs)];
  if (refusals.length > 0) return rejected(judged, refusals, rules, now);
  if (record.slots.length + want.jobs.length > rules.concurrent) {
    return { verdict: full(rules), record: judged, changed: isPending(record.rejections) };
  }

  const charges = wanted.map(({ quota, cost }) => ({ window: quota.window, cost, at: now }));
  const admitted: ClientRecord = {
    ...judged,
    windows: charge(judged.windows, charges),
    ...(want.via === 'rest' && { admittedAt: now }),
    slots: [...judged.slots, ...want.jobs.map((job, index) => ({ job, at: now, charged: chargedBy(index, charges) }))],
  };
  return { verdict: { is: 'admitted', taken: { jobs: want.jobs, charges } }, record: admitted, changed: true };
}

/**
 * Decides on an admitted request whose jobs are known now: those that it was admitted with, or others in their place, and perhaps more, as it
 * holds more files than its headers announced. It is still one request: `hourly`, `cooldown` and a ban since its admission do not apply. If
 * `daily` has no room for all files, the request is refunded; if only unfinished jobs are in the way it is not, since some of them may have ended.
 * A job may come several times: it counts so often, and is one that is unfinished. @param tools slugs, one for each further call of a tool
 */
export function enlarge(
  found: ClientRecord,
  taken: Taken,
  jobs: readonly string[],
  rules: Rules,
  now: number,
  pendingJobs: ReadonlySet<string> = NO_JOBS,
  tools: readonly string[] = [],
): AccountOutcome {
  const record = settle(found, rules, now);
  const [first, more] = [jobs.slice(0, taken.jobs.length), jobs.slice(taken.jobs.length)];
  // The tier that counts files is that of the protocol.
  const quota = taken.charges.some(({ window }) => window === rules.mcp.window) ? rules.mcp : rules.daily;
  const wanted = [{ quota, cost: more.length }, ...(quota === rules.mcp ? [] : ofTools(tools, rules))];
  const others = new Set([...pendingJobs].filter((job) => !taken.jobs.includes(job)));
  const refusals = exhausted(record, wanted, now, others);
  if (refusals.length > 0) return rejected(refund(record, taken, rules, now), refusals, rules, now);
  // A job that counts several times is one that is unfinished.
  const unfinished = [...new Set(more)].filter((job) => !first.includes(job));
  if (record.slots.length + unfinished.length > rules.concurrent) return { verdict: full(rules), record, changed: false };
  const added = wanted.map(({ quota: { window }, cost }) => ({ window, cost, at: now }));
  const larger: Taken = { jobs, charges: [...taken.charges, ...added] };
  const named = record.slots.map((slot) => ({ ...slot, job: first[taken.jobs.indexOf(slot.job)] ?? slot.job }));
  const slots = [...named, ...unfinished.map((job) => ({ job, at: now, charged: [quota.window] }))];
  return {
    verdict: { is: 'admitted', taken: larger },
    record: { ...record, windows: charge(record.windows, added), slots },
    changed: true,
  };
}

/** The cost of calls of tools that have their own limits. */
function ofTools(tools: readonly string[], rules: Rules): readonly { readonly quota: Quota; readonly cost: number }[] {
  return [...Map.groupBy(tools, (tool) => tool)].flatMap(([tool, { length: cost }]) => {
    const quota = aiQuota(rules, tool);
    return quota === undefined ? [] : [{ quota, cost }];
  });
}

/**
 * Refunds what a request took, except its `cooldown`. Its slots show whether that was done before, so an attempt whose answer was lost may be
 * repeated. A charge to a window that has ended is gone already.
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

/** Whether the record still has a slot of these jobs. */
export const holds = ({ slots }: ClientRecord, { jobs }: Pick<Taken, 'jobs'>): boolean => slots.some(({ job }) => jobs.includes(job));

/** Frees the slots of jobs that have ended. */
export const release = (record: ClientRecord, jobs: readonly string[]): ClientRecord => ({
  ...record,
  slots: record.slots.filter(({ job }) => !jobs.includes(job)),
});

function cooldown({ admittedAt }: ClientRecord, { cooldownMs }: Rules, now: number): Limited<Tier>[] {
  const waitMs = admittedAt === undefined ? 0 : admittedAt + cooldownMs - now;
  return waitMs > 0 ? [{ is: 'limited', tier: 'cooldown', limit: 1, waitMs }] : [];
}

/** A quota that only requests under way fill is one to wait for, not one that is used up. */
function exhausted(
  { windows, slots }: ClientRecord,
  wanted: readonly { readonly quota: Quota; readonly cost: number }[],
  now: number,
  pendingJobs: ReadonlySet<string>,
): Refusal[] {
  return wanted.flatMap(({ quota, cost }): Refusal[] => {
    const { tier, limit, window, ms } = quota;
    const { since, used } = windows[window] ?? { since: now, used: 0 };
    if (used + cost <= limit) return [];
    const reserved = slots.filter(({ job, charged }) => pendingJobs.has(job) && charged?.includes(window) === true).length;
    const untilReset = since + ms - now;
    if (used - reserved + cost > limit) return [{ is: 'limited', tier, limit, waitMs: untilReset }];
    return [{ is: 'limited', tier, limit, waitMs: Math.min(REQUEST_RETRY_MS, untilReset), isReserved: true }];
  });
}

/** The windows that a request's job was charged to: its first job counts for the request itself too. */
const chargedBy = (index: number, charges: readonly Charge[]): string[] =>
  charges.filter(({ cost }) => index < cost).map(({ window }) => window);

/**
 * Names the limit that lasts longest: a client that waited for a shorter one would be refused again. Only the rejection is recorded, and not
 * even that where only requests under way are in the way, since they may still be refunded.
 */
function rejected(record: ClientRecord, refusals: readonly Refusal[], rules: Rules, now: number): AccountOutcome {
  const { isReserved = false, ...verdict } = refusals.reduce((longest, refusal) => (refusal.waitMs > longest.waitMs ? refusal : longest));
  if (isReserved) return { verdict, record, changed: true };
  const rejections = reject(record.rejections, verdict.tier, verdict.waitMs, now, rules.rejections + 1);
  return { verdict, record: { ...record, rejections }, changed: true };
}

const full = ({ concurrent }: Rules): Verdict => ({ is: 'limited', tier: 'concurrent', limit: concurrent, waitMs: JOB_RETRY_MS });

const banned = (record: ClientRecord, until: number, changed: boolean): AccountOutcome => ({
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
