/** The Jobs of each pool: the cache, plus our own creations and deletions that it does not show yet. */
import type { KubeJob, Pod } from '../objects.ts';
import { LABEL } from '../objects.ts';

/** If the watch has not shown a change after this long, it did not happen, ms. */
const FORGET_MS = 30_000;

export interface LiveJobs {
  /** `now` is undefined once it is deleted. */
  jobChanged(key: string, now: KubeJob | undefined, before: KubeJob | undefined): void;
  podChanged(key: string, now: Pod | undefined, before: Pod | undefined): void;
  /** @param pool `namespace/name` */
  of(pool: string): readonly KubeJob[];
  podOf(job: KubeJob): Pod | undefined;
  /** All pods of a pool, including those without a Job. @param pool `namespace/name` */
  podsOf(pool: string): readonly Pod[];
  /** Records a Job that was just created. */
  created(job: KubeJob): void;
  /** Records a Job whose deletion was requested: its name stays taken until it is gone. */
  removed(uid: string): void;
}

interface Expected {
  readonly job: KubeJob;
  readonly until: number;
}

/** @param clock ms, of any origin */
export function liveJobs(clock: () => number): LiveJobs {
  const jobs = new Map<string, Map<string, KubeJob>>();
  const pods = new Map<string, Map<string, Pod>>();
  const podsOfPools = new Map<string, Map<string, Pod>>();
  const created = new Map<string, Expected>();
  const deleted = new Map<string, { readonly since: string; readonly until: number }>();

  const sweep = () => {
    for (const expected of [created, deleted]) for (const [uid, { until }] of expected) if (until < clock()) expected.delete(uid);
  };
  const withDeletion = (job: KubeJob): KubeJob => {
    const deletionTimestamp = deleted.get(job.metadata.uid ?? '')?.since;
    return deletionTimestamp === undefined ? job : { ...job, metadata: { deletionTimestamp, ...job.metadata } };
  };
  return {
    jobChanged(key, now, before) {
      const uid = now?.metadata.uid ?? before?.metadata.uid ?? '';
      // The watch has shown it, or its deletion: from now on the cache is right.
      created.delete(uid);
      if (now === undefined) deleted.delete(uid);
      put(jobs, before === undefined ? undefined : poolOf(before), now === undefined ? undefined : poolOf(now), key, now);
    },
    podChanged(key, now, before) {
      put(pods, before === undefined ? undefined : jobUidOf(before), now === undefined ? undefined : jobUidOf(now), key, now);
      put(podsOfPools, before === undefined ? undefined : poolOf(before), now === undefined ? undefined : poolOf(now), key, now);
    },
    podsOf: (pool) => [...(podsOfPools.get(pool)?.values() ?? [])],
    of(pool) {
      sweep();
      const cached = [...(jobs.get(pool)?.values() ?? [])];
      const names = new Set(cached.map(({ metadata }) => metadata.name));
      const expected = [...created.values()].filter(({ job }) => poolOf(job) === pool && !names.has(job.metadata.name));
      return [...cached, ...expected.map(({ job }) => job)].map(withDeletion);
    },
    podOf(job) {
      const own = [...(pods.get(job.metadata.uid ?? '')?.values() ?? [])];
      // A Job has one pod; if Kubernetes created a second, the newest counts.
      return own.toSorted((a, b) => (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''))[0];
    },
    created: (job) => void created.set(job.metadata.uid ?? '', { job, until: clock() + FORGET_MS }),
    removed(uid) {
      created.delete(uid);
      deleted.set(uid, { since: new Date(clock()).toISOString(), until: clock() + FORGET_MS });
    },
  };
}

/** `namespace/name` of the pool in a Job's or pod's label; `''` without one. */
export const poolOf = ({ metadata }: KubeJob | Pod): string => {
  const pool = metadata.labels?.[LABEL.pool];
  return pool === undefined ? '' : `${metadata.namespace}/${pool}`;
};

/** Uid of its Job; `''` without one. */
export const jobUidOf = ({ metadata }: Pod): string => metadata.ownerReferences?.find(({ kind }) => kind === 'Job')?.uid ?? '';

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
