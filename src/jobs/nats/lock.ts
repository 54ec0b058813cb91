/** Locks as leases in a bucket: whoever replaces a lapsed one holds it, and whoever stops renewing loses it. */

import { z } from 'zod';
import { RevisionConflict } from '../../errors.ts';
import type { Bucket } from '../../nats/bucket.ts';

interface Parts {
  readonly locks: Bucket;
  /** Ms since the epoch, the same for all processes. */
  readonly clock: () => Promise<number>;
  readonly report: (error: Error) => void;
  /** Never the same twice. */
  readonly newHolder: () => string;
}

const Lease = z.object({ holder: z.string(), until: z.number() });

/** @returns `JobStore.withLock` */
export function lockOver({ locks, clock, report, newHolder }: Parts) {
  return async (name: string, ttlMs: number, work: () => Promise<void>): Promise<boolean> => {
    const holder = newHolder();
    const lease = async () => JSON.stringify({ holder, until: (await clock()) + ttlMs });

    const found = await locks.get(name);
    if (found !== undefined && untilOf(found.text) > (await clock())) return false;
    const taken = await locks.put(name, await lease(), found?.revision ?? 0).catch(unlessOutrun);
    if (taken === undefined) return false;

    /** Undefined once it was lost: another's lease must be neither renewed nor given back. */
    let revision: number | undefined = taken;
    let renewing: Promise<void> | undefined;
    const renew = async () => {
      try {
        if (revision !== undefined) revision = await locks.put(name, await lease(), revision).catch(unlessOutrun);
      } catch (error) {
        // Out of reach: the next renewal tries again, and the lease lapses if none succeeds.
        report(error as Error);
      } finally {
        renewing = undefined;
      }
    };
    const renewal = setInterval(() => {
      renewing ??= renew();
    }, ttlMs / 3);
    try {
      await work();
    } finally {
      clearInterval(renewal);
      await renewing;
      // What cannot be given back lapses: the work is done, or has failed for a reason of its own.
      if (revision !== undefined)
        await locks.remove(name, revision).catch((error: unknown) => void (error instanceof RevisionConflict || report(error as Error)));
    }
    return true;
  };
}

function unlessOutrun(error: unknown): undefined {
  if (!(error instanceof RevisionConflict)) throw error;
}

/** A lease that cannot be read has lapsed: it would else hold the lock for ever. */
function untilOf(text: string): number {
  try {
    return Lease.parse(JSON.parse(text)).until;
  } catch {
    return 0;
  }
}
