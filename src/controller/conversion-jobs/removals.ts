/**
 * Cancels the jobs of ConversionJobs that are gone. No finalizer waits for that: with the controller uninstalled, a finalizer would keep a
 * resource, and the namespace that holds it, for ever.
 */
import { type Ask, isCancelled } from './ask.ts';
import { CANCEL_WITHIN_MS, leavesJob } from './decide.ts';
import type { ConversionJobObject } from './resource.ts';

export interface Removals {
  /** Remembers the job of a resource that is gone, if there is something to cancel. @returns whether there is */
  add(key: string, job: ConversionJobObject): boolean;
  /** Keys of resources whose jobs are not cancelled yet. */
  keys(): Iterable<string>;
  /** Cancels those with this key. @returns when to try again */
  cancel(key: string): Promise<{ readonly againAfterMs: number } | undefined>;
}

interface Removed {
  readonly job: ConversionJobObject;
  /** Ms since the epoch; the job runs to its end if it cannot be cancelled within `CANCEL_WITHIN_MS` after this. */
  readonly at: number;
}

const AGAIN_MS = 1_000;

/** @param clock ms since the epoch */
export function createRemovals({ ask, clock }: { readonly ask: Ask; readonly clock: () => number }): Removals {
  /** Several where a name is used again, oldest first. Replicas that do not lead remember as well: one of them may lead in a moment. */
  const removed = new Map<string, readonly Removed[]>();
  const isLate = ({ at }: Removed) => clock() >= at + CANCEL_WITHIN_MS;
  const keep = (key: string, entries: readonly Removed[]) => {
    // At the end of the map, which is thereby in the order of the latest removals.
    removed.delete(key);
    if (entries.length > 0) removed.set(key, entries);
  };
  const forgetLate = () => {
    for (const [key, entries] of removed) {
      if (!entries.every(isLate)) return;
      removed.delete(key);
    }
  };
  return {
    add(key, job) {
      forgetLate();
      if (!leavesJob(job, clock())) return false;
      keep(key, [...(removed.get(key) ?? []), { job, at: clock() }]);
      return true;
    },
    keys: () => [...removed.keys()],
    async cancel(key) {
      const left: Removed[] = [];
      const entries = removed.get(key) ?? [];
      for (const entry of entries) {
        const answer = await ask('cancel', entry.job);
        if (!isCancelled(answer) && !isLate(entry)) left.push(entry);
      }
      // Others may have been added meanwhile.
      keep(key, [...left, ...(removed.get(key) ?? []).filter((entry) => !entries.includes(entry))]);
      return left.length === 0 ? undefined : { againAfterMs: AGAIN_MS };
    },
  };
}
