/** Carries a decision out on the Kubernetes API and over NATS. Every step may be done twice, and any may be the last. */
import type { ToolchainPool } from '../../contracts/toolchain-pool.ts';
import type { Kube } from '../../kube/connect.ts';
import { isAlreadyExists, isConflict, KubeError, unlessNotFound } from '../../kube/error.ts';
import { JOBS, keyOf, PODS } from '../../kube/resource.ts';
import type { LiveJobs } from './live-jobs.ts';
import { GUARDS, isFinished, isOf, type Job, type Pod, trimJob } from './objects.ts';
import { roomNow } from './room.ts';
import type { Action, Seen, Worker } from './seen.ts';
import { jobOf, type Template } from './template.ts';
import { together } from './together.ts';
import type { TokenBucket } from './token-bucket.ts';

export interface Hands {
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
  hands: Hands,
  pool: ToolchainPool,
  seen: Seen,
  actions: readonly Action[],
  template: Template,
): Promise<Outcome> {
  // What is over goes first: its names are free for what is made then.
  await together(
    actions.filter((action) => action.do !== 'create'),
    async (action) => {
      if (!hands.mayAct()) return;
      switch (action.do) {
        case 'retire':
          if (action.worker.pod !== undefined) hands.retire(pool.metadata.name, action.worker.pod);
          return;
        case 'remove':
          return remove(hands, pool, action.worker);
        case 'guard':
          return guard(hands, pool, action.worker, action.on);
      }
    },
  );
  const slots = actions.flatMap((action) => (action.do === 'create' ? action.slots : []));
  return slots.length === 0 || !hands.mayAct() ? NOTHING : create(hands, pool, seen, slots.length, template);
}

async function create(hands: Hands, pool: ToolchainPool, seen: Seen, count: number, template: Template): Promise<Outcome> {
  let created = 0;
  const blocked: number[] = [];
  let halt: Pick<Outcome, 'waitMs' | 'refused'> | undefined;
  await together(await roomNow(hands.kube, pool, seen, count), async (slot) => {
    if (halt !== undefined || !hands.mayAct()) return;
    const waitMs = hands.tokens.take(keyOf(pool));
    if (waitMs > 0) {
      halt = { waitMs, refused: undefined };
      return;
    }
    try {
      const made = await make(hands, pool, slot, template);
      if (made === 'ours') created++;
      if (made === 'foreign') blocked.push(slot);
    } catch (error) {
      if (!(error instanceof KubeError) || !REFUSALS.has(error.status)) throw error;
      halt = { waitMs: undefined, refused: error.message };
    }
  });
  return { ...NOTHING, created, blocked, ...halt };
}

/** @returns whose Job bears the slot's name now; one of ours that has ended, or is about to go, leaves it as it is: `nobody` */
async function make({ kube, live }: Hands, pool: ToolchainPool, slot: number, template: Template): Promise<'ours' | 'foreign' | 'nobody'> {
  const job = jobOf(pool, slot, template);
  try {
    live.made(trimJob(await kube.create<Job>(JOBS, job)));
    return 'ours';
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  // An earlier attempt whose answer was lost, another leader, or something in the way: the API server itself tells which.
  const there = await kube.get<Job>(JOBS, job.metadata).catch(unlessNotFound);
  if (there !== undefined && !isOf(there, pool)) return 'foreign';
  if (there === undefined || there.metadata.deletionTimestamp !== undefined || isFinished(there)) return 'nobody';
  live.made(trimJob(there));
  return 'ours';
}

async function remove({ kube, live }: Hands, pool: ToolchainPool, worker: Worker): Promise<void> {
  const { namespace } = pool.metadata;
  try {
    await kube.remove(JOBS, { name: worker.name, namespace }, { uid: worker.uid, propagationPolicy: 'Background' });
  } catch (error) {
    // Gone, or another Job of the same name.
    if (!isConflict(error)) unlessNotFound(error);
  }
  live.removed(worker.uid);
}

async function guard({ kube }: Hands, { metadata: { namespace } }: ToolchainPool, { pod }: Worker, on: boolean): Promise<void> {
  if (pod === undefined) return;
  const annotations = on ? GUARDS : Object.fromEntries(Object.keys(GUARDS).map((key) => [key, null]));
  await kube.patch<Pod>(PODS, { name: pod, namespace }, { metadata: { annotations } }).catch(unlessNotFound);
}
