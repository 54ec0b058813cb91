/** Watches ToolchainPools with their Jobs and pods, and keeps each as its load asks for: woken by orders and words, never by polling Kubernetes. */
import type { Kube } from '../../kube/connection/connect.ts';
import type { Recorder } from '../../kube/events.ts';
import { JOBS, keyOf, PODS, refOf } from '../../kube/resource.ts';
import { createWorkQueue } from '../../kube/work-queue.ts';
import type { Registry } from '../../pools/registry.ts';
import type { Workers } from '../../pools/workers.ts';
import type { Queue } from '../../queue/queue.ts';
import type { ControllerMetrics } from '../../telemetry/controller.ts';
import type { Log } from '../../telemetry/log.ts';
import { mirror, timed } from '../watched.ts';
import { tokenBucket } from './apply/token-bucket.ts';
import { type Memory, remember } from './memory.ts';
import { liveJobs } from './observe/live-jobs.ts';
import { type Job, LABEL, type Pod, type PoolObject, TOOLCHAIN_POOLS, trimJob, trimPod } from './observe/objects.ts';
import type { Demand } from './observe/seen.ts';
import { type ReconcileDeps, reconcile } from './reconcile.ts';

export interface PoolsDeps {
  readonly kube: Kube;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  /** Of those, where pools are taken. Undefined: in all of them. */
  readonly poolNamespaces: readonly string[] | undefined;
  readonly queue: Pick<Queue, 'depth'>;
  readonly workers: Workers;
  readonly registry: Registry;
  readonly retire: (pool: string, worker: string) => void;
  readonly declare: ReconcileDeps['declare'];
  readonly publishState: ReconcileDeps['publishState'];
  readonly retract: (pool: string) => Promise<void>;
  /** Pools that are known to replicas and workers. `lapses`: declared by replicas, not by us. */
  readonly declared: () => Promise<readonly { readonly name: string; readonly lapses: boolean }[]>;
  /** Who else declares a pool of this name, and was refused. */
  readonly contender: (pool: string) => Promise<string | undefined>;
  /** Calls back with the pool of an order that was published. @returns unsubscribe */
  readonly onOrder: (callback: (pool: string) => void) => () => void;
  /** When words began to come in, by `performance.now()`. */
  readonly heardSince: () => number;
  readonly natsServers: readonly string[];
  /** How long a worker's pod may run without a word, ms. */
  readonly silentMs: number;
  readonly jobsPerSecond: number;
  readonly jobsBurst: number;
  readonly mayAct: () => boolean;
  readonly recorder: Recorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  /** Ms since the epoch. */
  readonly clock: () => number;
}

export interface Pools {
  readonly synced: () => boolean;
  /** From now on it acts. */
  lead(): Promise<void>;
  close(): Promise<void>;
}

/** Under load there is news all the time: a pool is looked at again after this long at the soonest, ms. */
const PAUSE_MS = 200;
/** Workers speak each 5 s: who has listened for this long has heard them all, ms. */
const HEARD_ALL_MS = 12_000;
/** How often pools are looked for that nobody declared a resource for, ms. */
const RETRACT_MS = 60_000;
const AT_ONCE = 4;

export function startPools(deps: PoolsDeps): Pools {
  const { workers, registry, queue, metrics, log, clock } = deps;
  const live = liveJobs(clock);
  const memories = new Map<string, Memory>();
  const pools = mirror<PoolObject>(deps, { resource: TOOLCHAIN_POOLS });
  const jobs = mirror<Job>(deps, { resource: JOBS, trim: trimJob, labelSelector: LABEL.pool });
  const pods = mirror<Pod>(deps, { resource: PODS, trim: trimPod, labelSelector: LABEL.pool });
  const caches = [pools, jobs, pods];
  const synced = () => caches.every((cache) => cache.synced);

  const demandOf = async (pool: string): Promise<Demand | undefined> => {
    try {
      const { waiting, held, oldestMs } = await queue.depth(pool);
      return { pending: waiting, inFlight: held, oldestMs };
    } catch (err) {
      log.warn({ pool, err }, 'what waits in a pool cannot be told: its workers stay as they are');
      return undefined;
    }
  };
  const reconcileDeps: ReconcileDeps = {
    ...deps,
    live,
    tokens: tokenBucket(deps.jobsPerSecond, deps.jobsBurst, () => performance.now()),
    demandOf,
    heartbeatsOf: (pool) => workers.workers(pool),
    enginesKnown: (pool) => (registry.pools().get(pool)?.seenAt ?? 0) > 0,
    listening: () => performance.now() - deps.heardSince() > HEARD_ALL_MS,
  };

  /** Where pools are taken, for one that is elsewhere. */
  const homesOf = ({ metadata: { namespace = '' } }: PoolObject) =>
    deps.poolNamespaces?.includes(namespace) === false ? deps.poolNamespaces : undefined;
  /** The oldest resource of a name has it, of those that are taken at all: whoever may make one elsewhere gets no name by it. */
  const ownerOf = (name: string): PoolObject | undefined =>
    [...pools.objects().values()]
      .filter((pool) => pool.metadata.name === name && homesOf(pool) === undefined)
      .toSorted(
        (a, b) =>
          (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') || keyOf(a).localeCompare(keyOf(b)),
      )[0];

  const counted = metrics.workQueue(TOOLCHAIN_POOLS.plural);
  const work = createWorkQueue({
    concurrency: AT_ONCE,
    hooks: {
      ...counted,
      retried(key, err, inMs) {
        counted.retried();
        log.warn({ pool: key, err, in_ms: inMs }, 'a pool could not be brought to where it should be: tried again');
      },
    },
    async work(key) {
      const pool = pools.objects().get(key);
      if (pool === undefined) {
        memories.delete(key);
        // Here, and not when it is heard: a look that was under way then has just told of it once more. A namesake's are series of their owner.
        const { name } = refOf(key);
        if (ownerOf(name) === undefined) metrics.forget(name);
        return undefined;
      }
      // What is not synced yet looks like a pool without workers; all are looked at when it is.
      if (!deps.mayAct() || !synced()) {
        memories.delete(key);
        return undefined;
      }
      const memory = memories.get(key) ?? remember();
      memories.set(key, memory);
      const owner = ownerOf(pool.metadata.name);
      const look = () => reconcile(reconcileDeps, pool, memory, { namesake: owner === pool ? undefined : owner, homes: homesOf(pool) });
      return { againAfterMs: await timed(metrics, 'toolchainpool', look) };
    },
  });
  const wake = (name: string) => {
    const owner = ownerOf(name);
    if (owner !== undefined) work.addAfter(keyOf(owner), PAUSE_MS);
  };
  const retractOthers = async () => {
    if (!deps.mayAct()) return;
    const known = await deps.declared();
    for (const { name, lapses } of known) if (!lapses && ownerOf(name) === undefined) await deps.retract(name);
    // NATS may have been restored from before a pool was there.
    for (const [key, memory] of memories) {
      const { name } = refOf(key);
      const contender = await deps.contender(name);
      const isKnown = known.some((declared) => declared.name === name);
      if (isKnown && contender === memory.contender) continue;
      if (!isKnown) [memory.declared, memory.toldTrouble] = ['', null];
      memory.contender = contender;
      work.add(key);
    }
  };
  const retracting = () =>
    void retractOthers().catch((err: unknown) => log.warn({ err }, 'pools without a resource could not be retracted'));

  let ends: (() => void)[] = [
    jobs.onChange((key, now, before) => {
      live.jobChanged(key, now, before);
      wake((now ?? before)?.metadata.labels?.[LABEL.pool] ?? '');
    }),
    pods.onChange((key, now, before) => {
      live.podChanged(key, now, before);
      wake((now ?? before)?.metadata.labels?.[LABEL.pool] ?? '');
    }),
    pools.onChange((key, now, before) => {
      // Our own writes of the status are no news.
      if (now !== undefined && before !== undefined && now.metadata.generation === before.metadata.generation && !isLeaving(now)) return;
      work.add(key);
      if (now !== undefined) return;
      // A namesake in another namespace may have waited for it.
      wake(before?.metadata.name ?? '');
      retracting();
    }),
    workers.onPresence((pool) => wake(pool)),
    deps.onOrder(wake),
  ];
  return {
    synced,
    async lead() {
      await Promise.all(caches.map((cache) => cache.whenSynced()));
      for (const key of pools.objects().keys()) work.add(key);
      retracting();
      const timer = setInterval(retracting, RETRACT_MS);
      ends = [...ends, () => clearInterval(timer)];
    },
    async close() {
      for (const end of ends) end();
      await work.close();
      await Promise.all(caches.map((cache) => cache.close()));
    },
  };
}

const isLeaving = ({ metadata }: PoolObject): boolean => metadata.deletionTimestamp !== undefined;
