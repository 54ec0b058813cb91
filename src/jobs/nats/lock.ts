/** Locks as leases in a bucket: a process that replaces an expired lease holds it, and one that stops renewing loses it. */

import { z } from 'zod';
import { RevisionConflict } from '../../errors.ts';
import type { Bucket } from '../../nats/bucket.ts';

interface LockDeps {
  readonly locks: Bucket;
  /** Ms since the epoch, the same for all processes. */
  readonly clock: () => Promise<number>;
  readonly report: (error: Error) => void;
  /** @returns a unique id */
  readonly newHolder: () => string;
}

const Lease = z.object({ holder: z.string(), until: z.number() });

/** @returns `JobStore.withLock` */
export function lockOver({ locks, clock, report, newHolder }: LockDeps) {
  return async (name: string, ttlMs: number, work: () => Promise<void>): Promise<boolean> => {
    const holder = newHolder();
    const lease = async () => JSON.stringify({ holder, until: (await clock()) + ttlMs });

    const found = await locks.get(name);
    if (found !== undefined && untilOf(found.text) > (await clock())) return false;
    const taken = await locks.put(name, await lease(), found?.revision ?? 0).catch(unlessConflict);
    if (taken === undefined) return false;

    /** Undefined once the lease is lost: another holder's must be neither renewed nor released. */
    let revision: number | undefined = taken;
    let renewing: Promise<void> | undefined;
    const renew = async () => {
      try {
        if (revision !== undefined) revision = await locks.put(name, await lease(), revision).catch(unlessConflict);
      } catch (error) {
        // The store cannot be reached: the next renewal tries again, and the lease expires if none succeeds.
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
      // A lease that cannot be released expires: the work is done, or has failed for another reason.
      if (revision !== undefined)
        await locks.remove(name, revision).catch((error: unknown) => void (error instanceof RevisionConflict || report(error as Error)));
    }
    return true;
  };
}

function unlessConflict(error: unknown): undefined {
  if (!(error instanceof RevisionConflict)) throw error;
}

/** A lease that cannot be read counts as expired: otherwise it would hold the lock for ever. */
function untilOf(text: string): number {
  try {
    return Lease.parse(JSON.parse(text)).until;
  } catch {
    return 0;
  }
}
