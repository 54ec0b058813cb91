/** Applies a decision over the Kubernetes API and NATS. Every step is idempotent, and the process may die after any of them. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { Kube } from '../../../kube/connection/connect.ts';
import { isAlreadyExists, isConflict, KubeError, unlessNotFound } from '../../../kube/connection/error.ts';
import { JOBS, objectKey, PODS } from '../../../kube/resource.ts';
import { mapConcurrently } from '../../../streams/concurrency.ts';
import type { Log } from '../../../telemetry/log.ts';
import { GUARDS, isFinished, isOf, type KubeJob, type Pod, trimJob } from '../objects.ts';
import type { ApplyOutcome, Observation, ObservedWorker, PoolAction } from '../observation.ts';
import type { LiveJobs } from '../observe/live-jobs.ts';
import { roomNow } from './room.ts';
import { jobOf, type Template } from './template.ts';
import type { TokenBucket } from './token-bucket.ts';

export interface ApplyDeps {
  readonly kube: Kube;
  readonly live: LiveJobs;
  /** Limits the rate at which Jobs are created, shared fairly among pools. */
  readonly tokens: TokenBucket;
  readonly retire: (pool: string, worker: string) => void;
  /** Checked before every change: a replica that has lost the lease changes nothing. */
  readonly mayAct: () => boolean;
  readonly log: Log;
}

const NOTHING: ApplyOutcome = { created: 0, waitMs: undefined, refused: undefined, blocked: [], failure: undefined };

/** HTTP statuses that a retry would not change: quota, admission, an invalid template. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 422]);

/** @throws KubeError if no Job could be created for a transient reason */
export async function apply(
  deps: ApplyDeps,
  pool: ToolchainPool,
  observed: Observation,
  actions: readonly PoolAction[],
  template: Template,
): Promise<ApplyOutcome> {
  const unguarded: unknown[] = [];
  const unremoved: unknown[] = [];
  // Ended Jobs are removed first, so that new ones can take their names. What fails here must not keep new ones from being created.
  await mapConcurrently<PoolAction, void>(
    actions.filter((action) => action.do !== 'create'),
    { limit: AT_ONCE },
    async (action) => {
      if (!deps.mayAct()) return;
      switch (action.do) {
        case 'retire':
          if (action.worker.pod !== undefined) deps.retire(pool.metadata.name, action.worker.pod);
          return;
        case 'remove':
          return remove(deps, pool, action.worker).catch((error: unknown) => void unremoved.push(error));
        case 'guard':
          return guard(deps, pool, action.worker, action.on).catch((error: unknown) => void unguarded.push(error));
      }
    },
  );
  if (unguarded.length > 0)
    deps.log.warn(
      { pool: pool.metadata.name, pods: unguarded.length, err: unguarded[0] },
      'the annotation that keeps node autoscalers from evicting busy workers could not be changed',
    );
  const count = actions.reduce((sum, action) => sum + (action.do === 'create' ? action.count : 0), 0);
  const outcome = count === 0 || !deps.mayAct() ? NOTHING : await create(deps, pool, observed, count, template);
  return { ...outcome, failure: unremoved[0] };
}

async function create(
  deps: ApplyDeps,
  pool: ToolchainPool,
  observed: Observation,
  count: number,
  template: Template,
): Promise<ApplyOutcome> {
  let created = 0;
  const blocked: number[] = [];
  let halt: Pick<ApplyOutcome, 'waitMs' | 'refused'> | undefined;
  await mapConcurrently<number, void>(await roomNow(deps.kube, pool, observed, count), { limit: AT_ONCE }, async (slot) => {
    if (halt !== undefined || !deps.mayAct()) return;
    const waitMs = deps.tokens.take(objectKey(pool));
    if (waitMs > 0) {
      halt = { waitMs, refused: undefined };
      return;
    }
    try {
      const owner = await createJob(deps, pool, slot, template);
      if (owner === 'ours') created++;
      if (owner === 'foreign') blocked.push(slot);
    } catch (error) {
      if (!(error instanceof KubeError) || !REFUSALS.has(error.status)) throw error;
      halt = { waitMs: undefined, refused: error.message };
    }
  });
  return { ...NOTHING, created, blocked, ...halt };
}

/** @returns who owns the Job with the slot's name now; `none`: it has ended or is being deleted, so nothing was created */
async function createJob(
  { kube, live }: ApplyDeps,
  pool: ToolchainPool,
  slot: number,
  template: Template,
): Promise<'ours' | 'foreign' | 'none'> {
  const job = jobOf(pool, slot, template);
  try {
    live.created(trimJob(await kube.create<KubeJob>(JOBS, job)));
    return 'ours';
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // The name is taken by our earlier attempt whose answer was lost, by another leader, or by something else: ask the API server, not the cache.
  const there = await kube.get<KubeJob>(JOBS, job.metadata).catch(unlessNotFound);
  if (there !== undefined && !isOf(there, pool)) return 'foreign';
  if (there === undefined || there.metadata.deletionTimestamp !== undefined || isFinished(there)) return 'none';
  live.created(trimJob(there));
  return 'ours';
}

async function remove({ kube, live }: ApplyDeps, pool: ToolchainPool, worker: ObservedWorker): Promise<void> {
  const { namespace } = pool.metadata;
  try {
    await kube.remove(JOBS, { name: worker.name, namespace }, { uid: worker.uid, propagationPolicy: 'Background' });
  } catch (error) {
    // Already deleted, or a new Job has the name.
    if (!isConflict(error)) unlessNotFound(error);
  }
  live.removed(worker.uid);
}

async function guard({ kube }: ApplyDeps, { metadata: { namespace } }: ToolchainPool, { pod }: ObservedWorker, on: boolean): Promise<void> {
  if (pod === undefined) return;
  const annotations = on ? GUARDS : Object.fromEntries(Object.keys(GUARDS).map((key) => [key, null]));
  await kube.patch<Pod>(PODS, { name: pod, namespace }, { metadata: { annotations } }).catch(unlessNotFound);
}

/** Independent calls in parallel: one at a time, the latency of a distant API server would limit how fast a pool scales. */
const AT_ONCE = 8;
