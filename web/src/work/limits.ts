/** What the service's limits leave this client, and what is worth sending then. */

interface Tier {
  readonly remaining: number;
  readonly reset_seconds: number;
}
export interface Limits {
  readonly enabled: boolean;
  readonly banned: boolean;
  readonly ban_expires_at: string | null;
  readonly tiers: Readonly<{ daily: Tier; hourly: Tier; cooldown: Tier; ai: Readonly<Record<string, Tier>> }>;
}

const bannedFor = ({ banned, ban_expires_at: until }: Limits): number => (banned && until !== null ? Date.parse(until) - Date.now() : 0);
/** @param taken of what remains, by requests that are on their way */
const until = ({ remaining, reset_seconds: seconds }: Tier, taken: number): number =>
  remaining - taken < 1 ? Math.max(0.3, seconds) * 1000 : 0;
const ownTier = ({ tiers: { ai } }: Limits, tool: string | undefined): readonly Tier[] =>
  tool === undefined || ai[tool] === undefined ? [] : [ai[tool]];

/** ms until a request would be admitted: one that is refused counts against its client */
export function waitToSend(limits: Limits, tool: string | undefined): number {
  const { daily, hourly, cooldown } = limits.tiers;
  if (!limits.enabled) return 0;
  return Math.max(bannedFor(limits), ...[daily, hourly, cooldown, ...ownTier(limits, tool)].map((tier) => until(tier, 0)));
}

/**
 * ms until an upload is worth while, because its request would be admitted after those that come before. That of a second counts for nothing.
 * @param before tools of those; undefined for conversions, of which many may be one request
 */
export function waitToUpload(limits: Limits, tool: string | undefined, before: readonly (string | undefined)[]): number {
  const { daily, hourly } = limits.tiers;
  if (!limits.enabled) return 0;
  const requests = before.filter((each) => each !== undefined).length;
  const own = ownTier(limits, tool).map((tier) => until(tier, before.filter((each) => each === tool).length));
  return Math.max(0, bannedFor(limits), until(daily, before.length), until(hourly, requests), ...own);
}

/** Files that one request may have. */
export const MOST_FILES = 20;
/** A batch that holds more than is left is refused whole. */
export const mostFiles = ({ enabled, tiers: { daily } }: Limits): number => (enabled ? Math.min(MOST_FILES, daily.remaining) : MOST_FILES);

/** Sizes of a task's files, bytes. */
export type Sizes = readonly number[];
/** What the service holds of one client at most (`uploads` in docs/configuration.md). */
const MOST_HELD = { files: 20, bytes: 2 ** 31 };

/** Whether the service takes these files beside those that it holds. It is asked where it holds none. */
export function hasRoom(held: readonly Sizes[], sizes: Sizes): boolean {
  const all = [...held.flat(), ...sizes];
  return all.length === sizes.length || (all.length <= MOST_HELD.files && all.reduce((sum, size) => sum + size, 0) <= MOST_HELD.bytes);
}
