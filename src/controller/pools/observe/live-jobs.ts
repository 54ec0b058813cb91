/** The Jobs of each pool as the cache has them, with what we ourselves did since: a cache is always a little behind. */
import type { Job, Pod } from './objects.ts';
import { LABEL } from './objects.ts';

/** What the API server has not shown by now did not come about, ms. */
const FORGET_MS = 30_000;

export interface LiveJobs {
  /** Undefined: it is gone. */
  jobChanged(key: string, now: Job | undefined, before: Job | undefined): void;
  podChanged(key: string, now: Pod | undefined, before: Pod | undefined): void;
  /** @param pool `namespace/name` */
  of(pool: string): readonly Job[];
  podOf(job: Job): Pod | undefined;
  /** Whatever Jobs they are of. @param pool `namespace/name` */
  podsOf(pool: string): readonly Pod[];
  /** A Job that was made. */
  created(job: Job): void;
  /** A Job that was told to go: its name is taken until it has gone. */
  removed(uid: string): void;
}

interface Expected {
  readonly job: Job;
  readonly until: number;
}

/** @param clock ms, of any origin */
export function liveJobs(clock: () => number): LiveJobs {
  const jobs = new Map<string, Map<string, Job>>();
  const pods = new Map<string, Map<string, Pod>>();
  const podsOfPools = new Map<string, Map<string, Pod>>();
  const made = new Map<string, Expected>();
  const going = new Map<string, { readonly since: string; readonly until: number }>();

  const sweep = () => {
    for (const expected of [made, going]) for (const [uid, { until }] of expected) if (until < clock()) expected.delete(uid);
  };
  const asTold = (job: Job): Job => {
    const deletionTimestamp = going.get(job.metadata.uid ?? '')?.since;
    return deletionTimestamp === undefined ? job : { ...job, metadata: { deletionTimestamp, ...job.metadata } };
  };
  return {
    jobChanged(key, now, before) {
      const uid = now?.metadata.uid ?? before?.metadata.uid ?? '';
      // Seen, or seen to be gone: from now on the cache knows better.
      made.delete(uid);
      if (now === undefined) going.delete(uid);
      put(jobs, before === undefined ? undefined : poolOf(before), now === undefined ? undefined : poolOf(now), key, now);
    },
    podChanged(key, now, before) {
      put(pods, before === undefined ? undefined : ownerOf(before), now === undefined ? undefined : ownerOf(now), key, now);
      put(podsOfPools, before === undefined ? undefined : poolOf(before), now === undefined ? undefined : poolOf(now), key, now);
    },
    podsOf: (pool) => [...(podsOfPools.get(pool)?.values() ?? [])],
    of(pool) {
      sweep();
      const cached = [...(jobs.get(pool)?.values() ?? [])];
      const names = new Set(cached.map(({ metadata }) => metadata.name));
      const expected = [...made.values()].filter(({ job }) => poolOf(job) === pool && !names.has(job.metadata.name));
      return [...cached, ...expected.map(({ job }) => job)].map(asTold);
    },
    podOf(job) {
      const own = [...(pods.get(job.metadata.uid ?? '')?.values() ?? [])];
      // A Job has one; where Kubernetes made a second, the newest is the one that counts.
      return own.toSorted((a, b) => (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''))[0];
    },
    created: (job) => void made.set(job.metadata.uid ?? '', { job, until: clock() + FORGET_MS }),
    removed(uid) {
      made.delete(uid);
      going.set(uid, { since: new Date(clock()).toISOString(), until: clock() + FORGET_MS });
    },
  };
}

/** `namespace/name` of the pool that a Job or pod says it is of; `''` where it says none. */
export const poolOf = ({ metadata }: Job | Pod): string => {
  const pool = metadata.labels?.[LABEL.pool];
  return pool === undefined ? '' : `${metadata.namespace}/${pool}`;
};

/** Uid of its Job; `''` where it has none. */
export const ownerOf = ({ metadata }: Pod): string => metadata.ownerReferences?.find(({ kind }) => kind === 'Job')?.uid ?? '';

function put<T>(
  groups: Map<string, Map<string, T>>,
  before: string | undefined,
  group: string | undefined,
  key: string,
  value: T | undefined,
): void {
  if (before !== undefined && before !== group) drop(groups, before, key);
  if (group === undefined || value === undefined) return;
  const members = groups.get(group) ?? new Map<string, T>();
  groups.set(group, members.set(key, value));
}

function drop<T>(groups: Map<string, Map<string, T>>, group: string, key: string): void {
  const members = groups.get(group);
  members?.delete(key);
  if (members?.size === 0) groups.delete(group);
}
