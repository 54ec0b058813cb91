/** Which Jobs there is room for, by what the API server itself has at this moment: caches are behind, and another may lead as well. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { Kube } from '../../../kube/connection/connect.ts';
import { unlessNotFound } from '../../../kube/connection/error.ts';
import { JOBS } from '../../../kube/resource.ts';
import { KEPT_FAILURES } from '../decide/decide.ts';
import { slotOf } from '../observe/gather.ts';
import { isDisrupted, isFinished, type Job, LABEL, type PoolObject, TOOLCHAIN_POOLS, verdictOf } from '../observe/objects.ts';
import { isLive, type Seen } from '../observe/seen.ts';

/** @returns slots for new Jobs, `wanted` at most @throws KubeError */
export async function roomNow(
  kube: Kube,
  pool: ToolchainPool,
  { workers, foreignSlots }: Seen,
  wanted: number,
): Promise<readonly number[]> {
  const capacity = await capacityNow(kube, pool);
  // Pods end before their Jobs do, and what has ended stays so: of that a cache may tell.
  const dead = new Set(workers.filter((worker) => !isLive(worker)).map(({ uid }) => uid));
  const { namespace, name } = pool.metadata;
  const jobs: Job[] = [];
  for await (const { items } of kube.pages<Job>(JOBS, { namespace, labelSelector: `${LABEL.pool}=${name}` })) jobs.push(...items);
  // What bears the pool's label but is no pool's takes a name, and no room.
  const others = jobs.filter((job) => !isWorker(job)).map(slotOf);
  return freeSlots(jobs.filter(isWorker), dead, [...foreignSlots, ...others], { capacity, wanted });
}

/**
 * The lowest slots that are free, as many as there is room for. Whoever looks at the same moment gets the same, and of two who look one
 * after the other the second gets all that the first may still use: docs/decisions/0006-slots.md.
 * @param jobs all that the pool has @param dead uids of those whose pods have ended, or are lost
 */
export function freeSlots(
  jobs: readonly Job[],
  dead: ReadonlySet<string>,
  foreignSlots: readonly number[],
  { capacity, wanted }: { readonly capacity: number; readonly wanted: number },
): readonly number[] {
  const isOver = (job: Job) => isFinished(job) || dead.has(job.metadata.uid ?? '');
  const [live, ended] = [jobs.filter((job) => !isOver(job)), jobs.filter(isOver)];
  const dying = ended.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const taken = new Set([...foreignSlots, ...[...live, ...dying, ...kept(ended)].map(slotOf)]);
  const count = Math.min(wanted, capacity - live.length);
  const free: number[] = [];
  for (let slot = 0; free.length < count; slot++) if (!taken.has(slot)) free.push(slot);
  return free;
}

/** Of this pool, or of one of its name that was deleted and whose workers still go. */
const isWorker = ({ metadata }: Job): boolean => metadata.ownerReferences?.some(({ kind }) => kind === TOOLCHAIN_POOLS.kind) ?? false;

/** 0 where the pool has gone, or has been made anew, since it was decided about. */
async function capacityNow(kube: Kube, { metadata, spec }: ToolchainPool): Promise<number> {
  const now = await kube.get<PoolObject>(TOOLCHAIN_POOLS, metadata).catch(unlessNotFound);
  if (now === undefined || now.metadata.uid !== metadata.uid || now.metadata.deletionTimestamp !== undefined) return 0;
  const { capacity, paused } = now.spec as Partial<ToolchainPool['spec']>;
  return paused === true ? 0 : Math.min(spec.capacity, capacity ?? 0);
}

/** Ended ones whose names stay taken: as `tidy` keeps them, so that all who look agree. A name that is still there blocks by itself. */
const kept = (ended: readonly Job[]): readonly Job[] =>
  ended
    .filter((job) => verdictOf(job)?.type !== 'Complete' && !isDisrupted(job))
    .toSorted((a, b) => endOf(b) - endOf(a))
    .slice(0, KEPT_FAILURES);

/** Ms since the epoch; one whose pod has only just ended has no time yet, and is the newest. */
const endOf = (job: Job): number => Date.parse(verdictOf(job)?.lastTransitionTime ?? '') || Number.MAX_SAFE_INTEGER;
