/** The stored record of one client: small, without its address, and deleted once nothing in it matters any more. */
import { z } from 'zod';
import { HOUR_MS, type Rules } from './tiers.ts';

export const CLIENT_RECORD_VERSION = 1;

/** Ms since the epoch, by the clock of the replica that wrote it. */
const time = z.number();

const Window = z.object({ since: time, used: z.number().int().min(0) });
const Rejection = z.object({
  at: time,
  /** For a `cooldown` rejection that no later request has followed: a request from this time on removes the rejection. */
  retryAt: time.optional(),
});
const Slot = z.object({
  job: z.string(),
  at: time,
  /** The windows in which it counts as one; missing in slots that an older replica wrote. */
  charged: z.array(z.string()).optional(),
});

export const ClientRecord = z.object({
  version: z.literal(CLIENT_RECORD_VERSION),
  /** By the window names of the tiers. */
  windows: z.record(z.string(), Window),
  /** Start of the last admitted REST request. */
  admittedAt: time.optional(),
  /** Rejections of the last hour, oldest first. */
  rejections: z.array(Rejection),
  bannedUntil: time.optional(),
  /** A slot for each job that may be unfinished, taken before the job is created. */
  slots: z.array(Slot),
});
export type ClientRecord = Readonly<z.infer<typeof ClientRecord>>;
export type Rejection = Readonly<z.infer<typeof Rejection>>;
export type Window = Readonly<z.infer<typeof Window>>;

export const NEW_CLIENT: ClientRecord = { version: CLIENT_RECORD_VERSION, windows: {}, rejections: [], slots: [] };

/**
 * A slot expires after this time even if it was not freed, because its process died, ms. No job can be unfinished for as long (an upload of an
 * hour, 60 min of waiting, three attempts of 60 min).
 */
export const SLOT_MS = 6 * HOUR_MS;

/** Length of each window by its name, ms. */
const lengths = (rules: Rules): ReadonlyMap<string, number> =>
  new Map([rules.daily, rules.hourly, rules.mcp, ...Object.values(rules.ai)].map(({ window, ms }) => [window, ms]));

/**
 * The record without what has expired. A replica whose clock was ahead may have written future times: they become `now`, or they would hold
 * the client longer than any limit says.
 */
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
