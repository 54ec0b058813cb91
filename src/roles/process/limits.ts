/** The limits of a role, over either store. */
import type { Config } from '../../config.ts';
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobStore } from '../../jobs/store.ts';
import { identifyWith } from '../../limits/clients/client.ts';
import { floodGuard } from '../../limits/flood.ts';
import { limiterOver } from '../../limits/limiter.ts';
import type { ClientLimits } from '../../limits/limits.ts';
import type { LimitStore } from '../../limits/store.ts';
import { exceptUnlimited, unlimited } from '../../limits/unlimited.ts';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

interface LimitsDeps {
  readonly store: LimitStore;
  readonly jobs: JobStore;
  /** A secret that stays the same after a restart. */
  readonly salt: string;
  /** Ms since the epoch. */
  readonly clock: () => number;
  /** Whether a request from this machine may be a person's own. */
  readonly atHome: boolean;
}

export function limitsOver({ limits, api }: Config, { store, jobs, salt, clock, atHome }: LimitsDeps): ClientLimits {
  const isHome = atHome && !limits.loopback && api.publicUrl === undefined && api.trustProxy.length === 0;
  const identify = identifyWith({
    trustProxy: api.trustProxy,
    sharedEgress: limits.sharedEgress,
    unlimited: [...limits.unlimited, ...(isHome ? LOOPBACK : [])],
    salt,
  });
  if (!limits.enabled) return { identify, clock, limiter: unlimited(limits, clock), flood: undefined, assistantFlood: undefined };
  const fateOf = async (job: string) => {
    const record = (await jobs.get(job))?.record;
    if (record === undefined) return 'unknown';
    return hasEnded(record) ? 'ended' : 'unfinished';
  };
  const [flood, assistantFlood] = [floodGuard(limits.readsPerMinute), floodGuard(limits.messagesPerMinute)];
  return {
    identify,
    clock,
    limiter: exceptUnlimited(limiterOver(store, limits, { clock, fateOf }), unlimited(limits, clock)),
    flood,
    assistantFlood,
  };
}
