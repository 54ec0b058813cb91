/** Objects of jobs that have no record: a crash between two stores left them. */
import type { ObjectInfo } from '../objects/store.ts';

/** No upload, wait and download together keep a job's files longer than this and the longest job, ms. */
const KEPT_MS = 3 * 3_600_000;

/** So few orphans say nothing about the store of records. */
const FEW = 20;

export interface Listed {
  readonly now: number;
  /** Objects listed in all, whether or not their jobs are known. */
  readonly listed: number;
  /** By job: those of which the scan of the records, begun after the listing, saw no record. */
  readonly unclaimed: ReadonlyMap<string, readonly ObjectInfo[]>;
  readonly longestJobMs: number;
  /** Since when no other process has written here, where that is known: nobody is at work on what is older. */
  readonly aloneSince?: number | undefined;
  /** Of all objects, 0 to 1: with more orphans than this it is the records that are missing, not the objects that are left over. */
  readonly maxShare: number;
}

export interface Orphans {
  readonly jobIds: readonly string[];
  readonly objects: number;
  /** A wiped store, or one restored from an old copy, must not make the files go too. */
  readonly refused: boolean;
}

export function orphans({ now, listed, unclaimed, longestJobMs, aloneSince = 0, maxShare }: Listed): Orphans {
  const keptSince = Math.max(aloneSince, now - KEPT_MS - longestJobMs);
  const isOld = ({ modifiedAt }: ObjectInfo) => modifiedAt < keptSince;
  // One young object is reason enough to leave its neighbours: somebody is still at work there.
  const old = [...unclaimed].filter(([, objects]) => objects.every(isOld));
  const count = old.reduce((sum, [, objects]) => sum + objects.length, 0);
  return { jobIds: old.map(([jobId]) => jobId), objects: count, refused: count > FEW && count > maxShare * listed };
}
