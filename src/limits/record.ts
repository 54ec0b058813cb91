/** What is remembered of one client: small, without an address, and gone when nothing in it matters any more. */
import { z } from 'zod';
import { HOUR_MS, type Rules } from './tiers.ts';

export const RECORD_VERSION = 1;

/** Ms since the epoch, by the clock of the replica that wrote it. */
const time = z.number();

const Window = z.object({ since: time, used: z.number().int().min(0) });
const Rejection = z.object({
  at: time,
  /** Of a `cooldown` rejection while no later working request has come: one from here on strikes it off. */
  retryAt: time.optional(),
});
const Slot = z.object({
  job: z.string(),
  at: time,
  /** The windows in which it counts one; unknown of a slot that an older replica wrote. */
  charged: z.array(z.string()).optional(),
});

export const ClientRecord = z.object({
  version: z.literal(RECORD_VERSION),
  /** By the window names of the tiers. */
  windows: z.record(z.string(), Window),
  /** Start of the last admitted REST request. */
  admittedAt: time.optional(),
  /** Of the last hour, oldest first. */
  rejections: z.array(Rejection),
  bannedUntil: time.optional(),
  /** A place for each job that may be unfinished, taken before the job is there. */
  slots: z.array(Slot),
});
export type ClientRecord = Readonly<z.infer<typeof ClientRecord>>;
export type Rejection = Readonly<z.infer<typeof Rejection>>;
export type Window = Readonly<z.infer<typeof Window>>;

export const NEW_CLIENT: ClientRecord = { version: RECORD_VERSION, windows: {}, rejections: [], slots: [] };

/**
 * A slot that nobody gave back, because its holder died, ends by itself: longer than any job can be unfinished (an hour's upload, 60 min of
 * waiting, three attempts of 60 min), ms.
 */
export const SLOT_MS = 6 * HOUR_MS;

/** The windows that a record can have, and how long each lasts, ms. */
const lengths = (rules: Rules): ReadonlyMap<string, number> =>
  new Map([rules.daily, rules.hourly, rules.mcp, ...Object.values(rules.ai)].map(({ window, ms }) => [window, ms]));

/** The record without what has lapsed. A clock that was ahead may have written times to come: they become now, or they would hold a client for longer than any limit says. */
export function settle(record: ClientRecord, rules: Rules, now: number): ClientRecord {
  const ms = lengths(rules);
  const windows = Object.entries(record.windows).flatMap(([name, { since, used }]): [string, Window][] =>
    now < since + (ms.get(name) ?? 0) ? [[name, { since: Math.min(since, now), used }]] : [],
  );
  const { admittedAt, bannedUntil } = record;
  return {
    version: record.version,
    windows: Object.fromEntries(windows),
    ...(admittedAt !== undefined && now < admittedAt + rules.cooldownMs && { admittedAt: Math.min(admittedAt, now) }),
    rejections: record.rejections
      .filter(({ at }) => now < at + HOUR_MS)
      .map(({ at, retryAt }) => ({ at: Math.min(at, now), ...(retryAt !== undefined && { retryAt: retryAt - Math.max(0, at - now) }) })),
    ...(bannedUntil !== undefined && now < bannedUntil && { bannedUntil: Math.min(bannedUntil, now + rules.banMs) }),
    slots: record.slots.filter(({ at }) => now < at + SLOT_MS).map((slot) => (slot.at > now ? { ...slot, at: now } : slot)),
  };
}

/** When nothing in the record will matter any more, ms since the epoch. */
export function lapsesAt({ windows, admittedAt = 0, rejections, bannedUntil = 0, slots }: ClientRecord, rules: Rules): number {
  const ms = lengths(rules);
  return Math.max(
    admittedAt + rules.cooldownMs,
    bannedUntil,
    ...Object.entries(windows).map(([name, { since }]) => since + (ms.get(name) ?? 0)),
    ...rejections.map(({ at }) => at + HOUR_MS),
    ...slots.map(({ at }) => at + SLOT_MS),
  );
}
