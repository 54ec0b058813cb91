/** The flood guard for requests that create no jobs or are refused: counts per client and minute, in memory and so per replica. */
import type { Limited } from './account.ts';
import type { Client } from './clients/client.ts';

export interface FloodGuard {
  /** Counts a request. @param now ms since the epoch @returns undefined when it is allowed, else the refusal, which does not count towards a ban */
  take(client: Pick<Client, 'key' | 'multiple' | 'isUnlimited'>, now: number): Limited<'flood'> | undefined;
  /** The same, without counting. */
  look(client: Pick<Client, 'key' | 'multiple' | 'isUnlimited'>, now: number): Limited<'flood'> | undefined;
  /** Number of clients in memory. */
  readonly size: number;
}

const WINDOW_MS = 60_000;

/** About 10 MB at most. An attacker with more networks makes the guard forget the oldest, but does not exhaust memory. */
const MOST_CLIENTS = 50_000;

/** @param perMinute requests of one client; a window opens with its first */
export function floodGuard(perMinute: number, mostClients = MOST_CLIENTS): FloodGuard {
  // In the order in which the windows opened: one that opens again is moved to the end.
  const windows = new Map<string, { readonly since: number; used: number }>();

  const look: FloodGuard['look'] = ({ key, multiple, isUnlimited = false }, now) => {
    if (isUnlimited) return undefined;
    const limit = perMinute * multiple;
    const window = windows.get(key);
    if (window === undefined || !isOpen(window.since, now) || window.used < limit) return undefined;
    return { is: 'limited', tier: 'flood', limit, waitMs: window.since + WINDOW_MS - now };
  };

  return {
    look,
    take(client, now) {
      const flooded = look(client, now);
      if (flooded !== undefined || client.isUnlimited) return flooded;
      const window = windows.get(client.key);
      if (window !== undefined && isOpen(window.since, now)) {
        window.used++;
        return undefined;
      }
      windows.delete(client.key);
      makeRoom(now);
      windows.set(client.key, { since: now, used: 1 });
      return undefined;
    },
    get size() {
      return windows.size;
    },
  };

  function makeRoom(now: number): void {
    for (const [key, { since }] of windows) {
      if (isOpen(since, now) && windows.size < mostClients) return;
      windows.delete(key);
    }
  }
}

/** A window that begins in the future was opened before the clock was set back: it does not count. */
const isOpen = (since: number, now: number): boolean => since <= now && now < since + WINDOW_MS;
