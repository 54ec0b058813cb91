/** Objects of jobs that have no record: a crash between two stores left them. */
import type { ObjectInfo } from '../objects/store.ts';

/** No upload, wait and download together keep a job's files longer than this and the longest job, ms. */
const KEPT_MS = 3 * 3_600_000;

/** With so few orphans, their share says nothing about the store of records. */
const FEW = 20;

/** From these follows how old an object must be to count as an orphan. */
export interface Ages {
  readonly now: number;
  readonly longestJobMs: number;
  /** Since when no other process has written here, where that is known: no process works on what is older. */
  readonly aloneSince?: number | undefined;
}

export interface ListedObject extends Ages {
  /** Objects listed in all, whether or not their jobs are known. */
  readonly listed: number;
  /** By job: those without a record, which was read after the listing. */
  readonly unclaimed: ReadonlyMap<string, readonly ObjectInfo[]>;
  /** Orphans that were found before among those listed. */
  readonly earlier?: number;
  /** Share of all objects, 0 to 1: with more orphans than this, records are missing rather than objects left over. */
  readonly maxShare: number;
}

export interface Orphans {
  readonly jobIds: readonly string[];
  readonly objects: number;
  /** A wiped store, or one restored from an old backup, must not cause the files to be deleted too. */
  readonly refused: boolean;
}

/** One young object protects all objects of its job: a process may still work there. */
export function areOld(objects: readonly ObjectInfo[], { now, longestJobMs, aloneSince = 0 }: Ages): boolean {
  const keptSince = Math.max(aloneSince, now - KEPT_MS - longestJobMs);
  return objects.every(({ modifiedAt }) => modifiedAt < keptSince);
}

/** The order of the listing is unrelated to the records, so a part of the objects has about the same share as all. */
export function orphans({ listed, unclaimed, earlier = 0, maxShare, ...ages }: ListedObject): Orphans {
  const old = [...unclaimed].filter(([, objects]) => areOld(objects, ages));
  const count = old.reduce((sum, [, objects]) => sum + objects.length, 0);
  const all = earlier + count;
  return { jobIds: old.map(([jobId]) => jobId), objects: count, refused: all > FEW && all > maxShare * listed };
}
