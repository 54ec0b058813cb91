/** The limits of a role, over either store. */
import type { Config } from '../config.ts';
import { hasEnded } from '../jobs/lifecycle.ts';
import type { JobStore } from '../jobs/store.ts';
import { identifyWith } from '../limits/client.ts';
import { floodGuard } from '../limits/flood.ts';
import { limiterOver } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { LimitStore } from '../limits/store.ts';
import { unlimited } from '../limits/unlimited.ts';

/** @param salt a secret that lasts @param clock ms since the epoch */
export function limitsOver(store: LimitStore, jobs: JobStore, { limits, api }: Config, salt: string, clock: () => number): Limits {
  const identify = identifyWith({ trustProxy: api.trustProxy, sharedEgress: limits.sharedEgress, salt });
  if (!limits.enabled) return { identify, limiter: unlimited(limits, clock), flood: undefined, assistantFlood: undefined };
  const fateOf = async (job: string) => {
    const record = (await jobs.get(job))?.record;
    if (record === undefined) return 'unknown';
    return hasEnded(record) ? 'ended' : 'unfinished';
  };
  const [flood, assistantFlood] = [floodGuard(limits.readsPerMinute), floodGuard(limits.messagesPerMinute)];
  return { identify, limiter: limiterOver(store, limits, { clock, fateOf }), flood, assistantFlood };
}
