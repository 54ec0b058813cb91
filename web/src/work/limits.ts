/** What the service's limits leave this client. */
import { ask } from '../api/client.ts';

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

export const askLimits = async (): Promise<Limits> => (await ask<Limits>('api/v1/limits')).data;

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
