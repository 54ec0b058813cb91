/** Finds out why Kubernetes creates no pod for a Job: quota, LimitRange and admission report that only in Events. */
import type { Kube } from '../../../kube/connection/connect.ts';
import type { KubeObject } from '../../../kube/resource.ts';
import type { PoolMemory, Refusal } from '../memory.ts';
import { isFinished, type KubeJob } from '../objects.ts';
import type { LiveJobs } from './live-jobs.ts';
import { PODLESS_MS } from './observe.ts';

interface Event extends KubeObject {
  readonly reason?: string;
  readonly message?: string;
}

/** Events of the core group can be selected by the object they regard; those of events.k8s.io cannot. */
const CORE_EVENTS = { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true } as const;

/** Reads the reason at most once per PODLESS_MS, and only while some Job has had no pod for that long. @returns what the memory is to keep */
export async function readRefusal(
  { kube, live }: { readonly kube: Kube; readonly live: LiveJobs },
  jobs: readonly KubeJob[],
  namespace: string | undefined,
  memory: PoolMemory,
  now: number,
): Promise<Refusal | undefined> {
  const podless = jobs.find(
    (job) =>
      live.podOf(job) === undefined &&
      job.metadata.deletionTimestamp === undefined &&
      !isFinished(job) &&
      now - (memory.worker(job.metadata.uid ?? '')?.firstSeen ?? now) > PODLESS_MS,
  );
  const known = memory.refusal();
  if (podless === undefined) return undefined;
  if (known !== undefined && now <= known.until) return known;
  return { message: await refusalOf(kube, namespace, podless.metadata.uid ?? ''), until: now + PODLESS_MS };
}

/** @returns undefined if no Event says why */
async function refusalOf(kube: Kube, namespace: string | undefined, jobUid: string): Promise<string | undefined> {
  const fieldSelector = `involvedObject.uid=${jobUid},reason=FailedCreate`;
  for await (const { items } of kube.pages<Event>(CORE_EVENTS, { namespace, fieldSelector, limit: 50 })) return items.at(-1)?.message;
  return undefined;
}
