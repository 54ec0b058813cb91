/** Watches ToolchainPools, their Jobs and pods, and reconciles each pool when an order, a heartbeat or a watch event arrives; it never polls Kubernetes. */
import type { Kube } from '../../kube/connection/connect.ts';
import type { Recorder } from '../../kube/events.ts';
import { JOBS, objectKey, PODS, refOf } from '../../kube/resource.ts';
import { createWorkQueue } from '../../kube/work-queue.ts';
import type { KnownWorkers, Registry } from '../../pools/registry.ts';
import type { Queue } from '../../queue/queue.ts';
import type { ControllerMetrics } from '../../telemetry/controller.ts';
import type { Log } from '../../telemetry/log.ts';
import { mirror, timed } from '../watched.ts';
import { tokenBucket } from './apply/token-bucket.ts';
import { newMemory, type PoolMemory } from './memory.ts';
import { type KubeJob, LABEL, type Pod, type PoolObject, TOOLCHAIN_POOLS, trimJob, trimPod } from './objects.ts';
import type { Demand } from './observation.ts';
import { liveJobs } from './observe/live-jobs.ts';
import { type PoolReconcileDeps, reconcilePool } from './reconcile.ts';

export interface PoolsDeps {
  readonly kube: Kube;
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  /** The namespaces among them that may hold pools. Undefined: all of them. */
  readonly poolNamespaces: readonly string[] | undefined;
  readonly queue: Pick<Queue, 'depth'>;
  readonly workers: KnownWorkers;
  readonly registry: Registry;
  readonly retire: (pool: string, worker: string) => void;
  readonly declare: PoolReconcileDeps['declare'];
  readonly publishState: PoolReconcileDeps['publishState'];
  readonly retract: (pool: string) => Promise<void>;
  /** Pools that are declared to replicas and workers. `lapses`: declared by API replicas, not by a controller. */
  readonly declared: () => Promise<readonly { readonly name: string; readonly lapses: boolean }[]>;
  /** Who else declares a pool of this name and was refused. */
  readonly contender: (pool: string) => Promise<string | undefined>;
  /** Calls back with the pool of an order that was published. @returns unsubscribe */
  readonly onOrder: (callback: (pool: string) => void) => () => void;
  /** When this process subscribed to heartbeats, by `performance.now()`. */
  readonly heardSince: () => number;
  readonly natsServers: readonly string[];
  /** How long a worker's pod may run without a heartbeat, ms. */
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
  /** Starts to reconcile: this replica now holds the lease. */
  lead(): Promise<void>;
  close(): Promise<void>;
}

/** Under load events arrive all the time: the shortest time between two reconciliations of a pool, ms. */
const PAUSE_MS = 200;
/** Workers send a heartbeat every 5 s: after this long every live worker has been observed, ms. */
const ALL_HEARTBEATS_MS = 12_000;
/** How often declarations without a ToolchainPool are retracted, ms. */
const RETRACT_MS = 60_000;
const AT_ONCE = 4;

export function startPools(deps: PoolsDeps): Pools {
  const { workers, registry, queue, metrics, log, clock } = deps;
  const live = liveJobs(clock);
  const memories = new Map<string, PoolMemory>();
  const pools = mirror<PoolObject>(deps, { resource: TOOLCHAIN_POOLS });
  const jobs = mirror<KubeJob>(deps, { resource: JOBS, trim: trimJob, labelSelector: LABEL.pool });
  const pods = mirror<Pod>(deps, { resource: PODS, trim: trimPod, labelSelector: LABEL.pool });
  const caches = [pools, jobs, pods];
  const synced = () => caches.every((cache) => cache.synced);

  const demandOf = async (pool: string): Promise<Demand | undefined> => {
    try {
      const { waiting, held, oldestMs } = await queue.depth(pool);
      return { pending: waiting, inFlight: held, oldestMs };
    } catch (err) {
      log.warn({ pool, err }, "the depth of a pool's queue cannot be read: the number of its workers stays the same");
      return undefined;
    }
  };
  const reconcileDeps: PoolReconcileDeps = {
    ...deps,
    live,
    tokens: tokenBucket(deps.jobsPerSecond, deps.jobsBurst, () => performance.now()),
    demandOf,
    heartbeatsOf: (pool) => workers.workers(pool),
    enginesKnown: (pool) => (registry.pools().get(pool)?.seenAt ?? 0) > 0,
    listening: () => performance.now() - deps.heardSince() > ALL_HEARTBEATS_MS,
  };

  /** The namespaces that may hold pools, if this pool is in none of them. */
  const homesOf = ({ metadata: { namespace = '' } }: PoolObject) =>
    deps.poolNamespaces?.includes(namespace) === false ? deps.poolNamespaces : undefined;
  /** The oldest resource in an allowed namespace owns the name; one in any other namespace never does. */
  const ownerOf = (name: string): PoolObject | undefined =>
    [...pools.objects().values()]
      .filter((pool) => pool.metadata.name === name && homesOf(pool) === undefined)
      .toSorted(
        (a, b) =>
          (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '') ||
          objectKey(a).localeCompare(objectKey(b)),
      )[0];

  const counted = metrics.workQueue(TOOLCHAIN_POOLS.plural);
  const work = createWorkQueue({
    concurrency: AT_ONCE,
    hooks: {
      ...counted,
      retried(key, err, inMs) {
        counted.retried();
        log.warn({ pool: key, err, in_ms: inMs }, 'reconciling a pool failed and will be retried');
      },
    },
    async work(key) {
      const pool = pools.objects().get(key);
      if (pool === undefined) {
        memories.delete(key);
        orderedAt.delete(key);
        // Not in the watch callback: a reconciliation running at that moment would set the series again. If another pool owns the name, they are its series.
        const { name, namespace = '' } = refOf(key);
        metrics.forgetDegraded(name, namespace);
        if (ownerOf(name) === undefined) metrics.forget(name);
        return undefined;
      }
      // Before the caches are synced a pool seems to have no workers; all pools are reconciled once they are.
      if (!deps.mayAct() || !synced()) {
        memories.delete(key);
        return undefined;
      }
      const memory = memories.get(key) ?? newMemory();
      memories.set(key, memory);
      const owner = ownerOf(pool.metadata.name);
      const run = () => reconcilePool(reconcileDeps, pool, memory, { namesake: owner === pool ? undefined : owner, homes: homesOf(pool) });
      return { againAfterMs: await timed(metrics, 'toolchainpool', run) };
    },
  });
  const wake = (name: string) => {
    const owner = ownerOf(name);
    if (owner !== undefined) work.addAfter(objectKey(owner), PAUSE_MS);
  };
  /** When the latest order of a pool was announced, by `performance.now()`. */
  const orderedAt = new Map<string, number>();
  /** The first order after a pause has its pool reconciled at once, as it may have no worker, and once more later, as NATS may announce it before it is stored. */
  const wakeForOrder = (name: string) => {
    const owner = ownerOf(name);
    if (owner === undefined) return;
    const key = objectKey(owner);
    const now = performance.now();
    if (now - (orderedAt.get(key) ?? Number.NEGATIVE_INFINITY) > PAUSE_MS) work.add(key);
    orderedAt.set(key, now);
    work.addAfter(key, PAUSE_MS);
  };
  const retractOthers = async () => {
    if (!deps.mayAct()) return;
    const known = await deps.declared();
    for (const { name, lapses } of known) if (!lapses && ownerOf(name) === undefined) await deps.retract(name);
    // NATS may have been restored from a backup older than the pool.
    for (const [key, memory] of memories) {
      const { name } = refOf(key);
      const contender = await deps.contender(name);
      const isKnown = known.some((declared) => declared.name === name);
      if (isKnown && contender === memory.contender()) continue;
      if (!isKnown) memory.wasForgotten();
      memory.sawContender(contender);
      work.add(key);
    }
  };
  let closed = false;
  const startRetraction = () =>
    void retractOthers().catch((err: unknown) => log.warn({ err }, 'pools without a resource could not be retracted'));

  const unsubscribes: (() => void)[] = [
    jobs.onChange((key, now, before) => {
      live.jobChanged(key, now, before);
      wake((now ?? before)?.metadata.labels?.[LABEL.pool] ?? '');
    }),
    pods.onChange((key, now, before) => {
      live.podChanged(key, now, before);
      wake((now ?? before)?.metadata.labels?.[LABEL.pool] ?? '');
    }),
    pools.onChange((key, now, before) => {
      // Ignore our own status writes.
      if (now !== undefined && before !== undefined && now.metadata.generation === before.metadata.generation && !isLeaving(now)) return;
      work.add(key);
      if (now !== undefined) return;
      // A pool of the same name in another namespace may have been waiting for the name.
      wake(before?.metadata.name ?? '');
      startRetraction();
    }),
    workers.onPresence((pool) => wake(pool)),
    deps.onOrder(wakeForOrder),
  ];
  return {
    synced,
    async lead() {
      await Promise.all(caches.map((cache) => cache.whenSynced()));
      if (closed) return;
      for (const key of pools.objects().keys()) work.add(key);
      startRetraction();
      const timer = setInterval(startRetraction, RETRACT_MS);
      unsubscribes.push(() => clearInterval(timer));
    },
    async close() {
      closed = true;
      for (const unsubscribe of unsubscribes) unsubscribe();
      await work.close();
      await Promise.all(caches.map((cache) => cache.close()));
    },
  };
}

const isLeaving = ({ metadata }: PoolObject): boolean => metadata.deletionTimestamp !== undefined;
