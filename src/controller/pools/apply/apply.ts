/** Carries a decision out on the Kubernetes API and over NATS. Every step may be done twice, and any may be the last. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { Kube } from '../../../kube/connection/connect.ts';
import { isAlreadyExists, isConflict, KubeError, unlessNotFound } from '../../../kube/connection/error.ts';
import { JOBS, keyOf, PODS } from '../../../kube/resource.ts';
import { mapConcurrently } from '../../../streams/concurrency.ts';
import type { LiveJobs } from '../observe/live-jobs.ts';
import { GUARDS, isFinished, isOf, type Job, type Pod, trimJob } from '../observe/objects.ts';
import type { Action, Seen, Worker } from '../observe/seen.ts';
import { roomNow } from './room.ts';
import { jobOf, type Template } from './template.ts';
import type { TokenBucket } from './token-bucket.ts';

export interface ApplyDeps {
  readonly kube: Kube;
  readonly live: LiveJobs;
  /** How many Jobs may be made, and how fast: a fair part of it for each pool. */
  readonly tokens: TokenBucket;
  readonly retire: (pool: string, worker: string) => void;
  /** Asked before every change: a leader that has lost the lead changes nothing. */
  readonly mayAct: () => boolean;
}

export interface Outcome {
  readonly created: number;
  /** Ms until the next Job may be made, where fewer were made than asked for. */
  readonly waitMs: number | undefined;
  /** Why the API server takes no Job. */
  readonly refused: string | undefined;
  /** Slots whose names something else bears that the cache does not show, or not yet. */
  readonly blocked: readonly number[];
}

const NOTHING: Outcome = { created: 0, waitMs: undefined, refused: undefined, blocked: [] };

/** Answers by which the API server means that it would say the same again: quota, admission, a template that is wrong. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 422]);

/** @throws KubeError for what may pass */
export async function apply(
  deps: ApplyDeps,
  pool: ToolchainPool,
  seen: Seen,
  actions: readonly Action[],
  template: Template,
): Promise<Outcome> {
  // What is over goes first: its names are free for what is made then.
  await mapConcurrently<Action, void>(
    actions.filter((action) => action.do !== 'create'),
    { limit: AT_ONCE },
    async (action) => {
      if (!deps.mayAct()) return;
      switch (action.do) {
        case 'retire':
          if (action.worker.pod !== undefined) deps.retire(pool.metadata.name, action.worker.pod);
          return;
        case 'remove':
          return remove(deps, pool, action.worker);
        case 'guard':
          return guard(deps, pool, action.worker, action.on);
      }
    },
  );
  const count = actions.reduce((sum, action) => sum + (action.do === 'create' ? action.count : 0), 0);
  return count === 0 || !deps.mayAct() ? NOTHING : create(deps, pool, seen, count, template);
}

async function create(deps: ApplyDeps, pool: ToolchainPool, seen: Seen, count: number, template: Template): Promise<Outcome> {
  let created = 0;
  const blocked: number[] = [];
  let halt: Pick<Outcome, 'waitMs' | 'refused'> | undefined;
  await mapConcurrently<number, void>(await roomNow(deps.kube, pool, seen, count), { limit: AT_ONCE }, async (slot) => {
    if (halt !== undefined || !deps.mayAct()) return;
    const waitMs = deps.tokens.take(keyOf(pool));
    if (waitMs > 0) {
      halt = { waitMs, refused: undefined };
      return;
    }
    try {
      const owner = await make(deps, pool, slot, template);
      if (owner === 'ours') created++;
      if (owner === 'foreign') blocked.push(slot);
    } catch (error) {
      if (!(error instanceof KubeError) || !REFUSALS.has(error.status)) throw error;
      halt = { waitMs: undefined, refused: error.message };
    }
  });
  return { ...NOTHING, created, blocked, ...halt };
}

/** @returns whose Job bears the slot's name now; one of ours that has ended, or is about to go, leaves it as it is: `nobody` */
async function make(
  { kube, live }: ApplyDeps,
  pool: ToolchainPool,
  slot: number,
  template: Template,
): Promise<'ours' | 'foreign' | 'nobody'> {
  const job = jobOf(pool, slot, template);
  try {
    live.created(trimJob(await kube.create<Job>(JOBS, job)));
    return 'ours';
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // An earlier attempt whose answer was lost, another leader, or something in the way: the API server itself tells which.
  const there = await kube.get<Job>(JOBS, job.metadata).catch(unlessNotFound);
  if (there !== undefined && !isOf(there, pool)) return 'foreign';
  if (there === undefined || there.metadata.deletionTimestamp !== undefined || isFinished(there)) return 'nobody';
  live.created(trimJob(there));
  return 'ours';
}

async function remove({ kube, live }: ApplyDeps, pool: ToolchainPool, worker: Worker): Promise<void> {
  const { namespace } = pool.metadata;
  try {
    await kube.remove(JOBS, { name: worker.name, namespace }, { uid: worker.uid, propagationPolicy: 'Background' });
  } catch (error) {
    // Gone, or another Job of the same name.
    if (!isConflict(error)) unlessNotFound(error);
  }
  live.removed(worker.uid);
}

async function guard({ kube }: ApplyDeps, { metadata: { namespace } }: ToolchainPool, { pod }: Worker, on: boolean): Promise<void> {
  if (pod === undefined) return;
  const annotations = on ? GUARDS : Object.fromEntries(Object.keys(GUARDS).map((key) => [key, null]));
  await kube.patch<Pod>(PODS, { name: pod, namespace }, { metadata: { annotations } }).catch(unlessNotFound);
}

/** Calls that need not wait for each other, a few at a time: one after the other, a distant API server would set the pace of a pool. */
const AT_ONCE = 8;
