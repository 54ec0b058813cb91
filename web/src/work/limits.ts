/** What the service's limits leave this client, and what is worth sending then. */
import { signal } from '@preact/signals';

interface Tier {
  readonly remaining: number;
  readonly reset_seconds: number;
}
export interface Limits {
  readonly enabled: boolean;
  readonly banned: boolean;
  readonly ban_expires_at: string | null;
  readonly tiers: Readonly<{ daily: Tier; hourly: Tier; cooldown: Tier; ai: Readonly<Record<string, Tier>> }>;
  readonly files: FileBounds;
}
interface FileBounds {
  /** For one file; undefined until the service was asked. */
  readonly max_bytes?: number;
  readonly max_batch_files: number;
  /** What the service holds of one client; null: no limit. */
  readonly max_uploads: number | null;
  readonly max_upload_bytes: number | null;
}

/** Those of this service, once it was asked; until then those of most (`api` and `uploads` in docs/configuration.md). */
export const bounds = signal<FileBounds>({ max_batch_files: 20, max_uploads: 20, max_upload_bytes: 2 ** 31 });

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

/** A batch that holds more than is left is refused whole. */
export const mostFiles = ({ enabled, tiers: { daily }, files: { max_batch_files: most } }: Limits): number =>
  enabled ? Math.min(most, daily.remaining) : most;

/** Sizes of a task's files, bytes. */
export type Sizes = readonly number[];

/** Whether the service takes these files beside those that it holds. It is asked where it holds none. */
export function hasRoom(held: readonly Sizes[], sizes: Sizes): boolean {
  const all = [...held.flat(), ...sizes];
  const { max_uploads: files, max_upload_bytes: bytes } = bounds.value;
  if (all.length === sizes.length) return true;
  return (files === null || all.length <= files) && (bytes === null || all.reduce((sum, size) => sum + size, 0) <= bytes);
}
