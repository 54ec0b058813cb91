/** Clients as an operator sees them, and a ban lifted. */
import { RevisionConflict } from '../../errors.ts';
import { type Usage, usageOf } from '../answers/usage.ts';
import { lapsesAt, NEW_CLIENT } from '../record.ts';
import type { LimitSettings } from '../settings.ts';
import type { LimitStore } from '../store.ts';
import { rulesFor } from '../tiers.ts';
import type { Client } from './client.ts';

const TRIES = 5;

export interface BannedClient {
  readonly key: string;
  /** Ms since the epoch. */
  readonly until: number;
  readonly rejectionsLastHour: number;
}

/** @param now ms since the epoch @returns how many clients have a record, and those of them that are banned */
export async function bannedClients(
  store: LimitStore,
  settings: LimitSettings,
  now: number,
): Promise<{ readonly known: number; readonly banned: readonly BannedClient[] }> {
  const rules = rulesFor(settings, { multiple: 1, bannable: true });
  const banned: BannedClient[] = [];
  let known = 0;
  for await (const { key, record } of store.scan()) {
    known++;
    const { banExpiresAt, rejectionsLastHour } = usageOf(record, rules, now);
    if (banExpiresAt !== undefined) banned.push({ key, until: banExpiresAt, rejectionsLastHour });
  }
  return { known, banned };
}

/**
 * Lifts a ban, and forgets the refusals that led to it: they would lead to the next.
 * @param now ms since the epoch
 * @throws RevisionConflict if the client's requests change its record all the time
 */
export async function unban(store: LimitStore, settings: LimitSettings, client: Client, now: number): Promise<Usage> {
  const rules = rulesFor(settings, client);
  for (let tries = 1; ; tries++) {
    const stored = await store.get(client.key);
    if (stored === undefined) return usageOf(NEW_CLIENT, rules, now);
    const { bannedUntil: _, ...rest } = stored.record;
    const freed = { ...rest, rejections: [] };
    try {
      await store.put(client.key, freed, stored.revision, lapsesAt(freed, rules));
      return usageOf(freed, rules, now);
    } catch (error) {
      if (!(error instanceof RevisionConflict) || tries === TRIES) throw error;
    }
  }
}

/** @param now ms since the epoch */
export async function usageOfClient(store: LimitStore, settings: LimitSettings, client: Client, now: number): Promise<Usage> {
  return usageOf((await store.get(client.key))?.record ?? NEW_CLIENT, rulesFor(settings, client), now);
}
