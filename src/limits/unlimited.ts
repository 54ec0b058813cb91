/** The limiter for limits that are switched off: admits every client and stores nothing. */

import { type Usage, usageOf } from './answers/usage.ts';
import type { Client } from './clients/client.ts';
import type { Limiter } from './limiter.ts';
import { NEW_CLIENT } from './record.ts';
import type { LimitSettings } from './settings.ts';
import { rulesFor } from './tiers.ts';

/** @param settings clients still see their values */
export function unlimited(settings: LimitSettings, clock: () => number): Limiter {
  const usage = (client: Parameters<Limiter['usage']>[0]): Usage => ({
    ...usageOf(NEW_CLIENT, rulesFor(settings, client), clock()),
    enforced: false,
  });
  return {
    reserve: async (client, { jobs }) => ({ granted: true, reservation: { client, taken: { jobs, charges: [] } }, usage: usage(client) }),
    enlarge: async (reservation) => ({ granted: true, reservation, usage: usage(reservation.client) }),
    refund: async ({ client }) => usage(client),
    release: async () => {},
    usage: async (client) => usage(client),
  };
}

/** @param counted for clients that limits hold for @param free for the others */
export function exceptUnlimited(counted: Limiter, free: Limiter): Limiter {
  const of = ({ isUnlimited = false }: Client) => (isUnlimited ? free : counted);
  return {
    reserve: (client, want) => of(client).reserve(client, want),
    enlarge: (reservation, jobs, tools) => of(reservation.client).enlarge(reservation, jobs, tools),
    refund: (reservation) => of(reservation.client).refund(reservation),
    release: (key, jobs) => counted.release(key, jobs),
    usage: (client) => of(client).usage(client),
  };
}
