/** Which Jobs there is room for, read from the API server itself: caches lag, and for a moment two replicas may believe that they lead. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { Kube } from '../../../kube/connection/connect.ts';
import { unlessNotFound } from '../../../kube/connection/error.ts';
import { JOBS } from '../../../kube/resource.ts';
import { KEPT_FAILURES } from '../decide/decide.ts';
import { isDisrupted, isFinished, type KubeJob, LABEL, type PoolObject, slotOf, TOOLCHAIN_POOLS, verdictOf } from '../objects.ts';
import { isLive, type Observation } from '../observation.ts';

/** @returns slots for new Jobs, `wanted` at most @throws KubeError */
export async function roomNow(
  kube: Kube,
  pool: ToolchainPool,
  { workers, foreignSlots }: Observation,
  wanted: number,
): Promise<readonly number[]> {
  const [capacity, jobs] = await Promise.all([capacityNow(kube, pool), jobsNow(kube, pool)]);
  // Pods end before their Jobs, and an ended pod stays ended: here the cache can be trusted.
  const dead = new Set(workers.filter((worker) => !isLive(worker)).map(({ uid }) => uid));
  // A Job with the pool's label that no pool owns takes a name, but no capacity.
  const others = jobs.filter((job) => !isWorker(job)).map(slotOf);
  return freeSlots(jobs.filter(isWorker), dead, [...foreignSlots, ...others], { capacity, wanted });
}

/**
 * All slots are below this number: it leaves free ones while ended Jobs keep their names. `manifests/admission/workers.yaml` has the same formula, so
 * that a stolen token of the controller creates no Jobs in higher slots.
 */
export const slotsBelow = (capacity: number): number => 2 * capacity + 8;

/**
 * The lowest free slots, as many as there is room for. Two replicas that read at the same moment get the same slots; of two that read one after
 * the other, the second gets all that the first may still use: docs/decisions/0006-slots.md.
 * @param jobs all Jobs of the pool @param dead uids of those whose pods have ended or are lost
 */
export function freeSlots(
  jobs: readonly KubeJob[],
  dead: ReadonlySet<string>,
  foreignSlots: readonly number[],
  { capacity, wanted }: { readonly capacity: number; readonly wanted: number },
): readonly number[] {
  const isOver = (job: KubeJob) => isFinished(job) || dead.has(job.metadata.uid ?? '');
  const [live, ended] = [jobs.filter((job) => !isOver(job)), jobs.filter(isOver)];
  const dying = ended.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const taken = new Set([...foreignSlots, ...[...live, ...dying, ...kept(ended)].map(slotOf)]);
  const count = Math.min(wanted, capacity - live.length);
  const free: number[] = [];
  for (let slot = 0; free.length < count && slot < slotsBelow(capacity); slot++) if (!taken.has(slot)) free.push(slot);
  return free;
}

/** Whether it is a Job of this pool, or of a deleted pool of the same name whose workers are still leaving. */
const isWorker = ({ metadata }: KubeJob): boolean => metadata.ownerReferences?.some(({ kind }) => kind === TOOLCHAIN_POOLS.kind) ?? false;

async function jobsNow(kube: Kube, { metadata: { namespace, name } }: ToolchainPool): Promise<readonly KubeJob[]> {
  const jobs: KubeJob[] = [];
  for await (const { items } of kube.pages<KubeJob>(JOBS, { namespace, labelSelector: `${LABEL.pool}=${name}` })) jobs.push(...items);
  return jobs;
}

/** 0 if the pool was deleted, or deleted and created again, since the decision. */
async function capacityNow(kube: Kube, { metadata, spec }: ToolchainPool): Promise<number> {
  const now = await kube.get<PoolObject>(TOOLCHAIN_POOLS, metadata).catch(unlessNotFound);
  if (now === undefined || now.metadata.uid !== metadata.uid || now.metadata.deletionTimestamp !== undefined) return 0;
  const { capacity, paused } = now.spec as Partial<ToolchainPool['spec']>;
  return paused === true ? 0 : Math.min(spec.capacity, capacity ?? 0);
}

/** Ended Jobs whose names stay taken: those that `tidy` keeps, so that all replicas agree. */
const kept = (ended: readonly KubeJob[]): readonly KubeJob[] =>
  ended
    .filter((job) => verdictOf(job)?.type !== 'Complete' && !isDisrupted(job))
    .toSorted((a, b) => endOf(b) - endOf(a))
    .slice(0, KEPT_FAILURES);

/** Ms since the epoch; a Job whose pod has just ended has no time yet and counts as the newest. */
const endOf = (job: KubeJob): number => Date.parse(verdictOf(job)?.lastTransitionTime ?? '') || Number.MAX_SAFE_INTEGER;
