/** What the role controller measures. Labels: pools and kinds of resources, bounded by what operators created. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { LAG_EVERY_MS, type Uncaught, uncaughtCounter } from './metrics.ts';

/** The state of a pool; an undefined value is unknown, and has no series. */
export interface PoolGauges {
  readonly desired: number | undefined;
  readonly workers: number;
  readonly idle: number;
  readonly busy: number;
  readonly queued: number | undefined;
  readonly running: number | undefined;
  readonly oldestSeconds: number | undefined;
}

export interface WatchState {
  readonly objects: number;
  readonly sinceLastEventMs: number;
  readonly restarts: number;
  readonly relists: number;
}

export interface ControllerMetrics {
  leading(is: boolean): void;
  /** Metrics of one work queue, with the names that client-go uses. */
  workQueue(name: string): {
    added(depth: number): void;
    started(waitedMs: number, depth: number): void;
    done(workedMs: number): void;
    retried(): void;
  };
  reconciled(controller: string, result: 'success' | 'error', seconds: number): void;
  pool(pool: string, gauges: PoolGauges): void;
  /** @param namespace of the ToolchainPool: two of the same name may exist, of which one is refused */
  degraded(pool: string, namespace: string, is: boolean): void;
  /** @param waitedSeconds how long orders had waited for it, where any had */
  workersCreated(pool: string, jobs: number, waitedSeconds: number | undefined): void;
  forget(pool: string): void;
  /** The ToolchainPool was deleted, whether or not another one owns its name. */
  forgetDegraded(pool: string, namespace: string): void;
  /** Read at each scrape. */
  watching(resource: string, read: () => WatchState): void;
  /** ConversionJobs by phase: read at each scrape. */
  conversions(count: () => Readonly<Record<string, number>>): void;
  /** An uncaught error: the role is about to end. */
  uncaught(kind: Uncaught): void;
  text(): Promise<string>;
  readonly contentType: string;
}

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];

export function createControllerMetrics(): ControllerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS });
  const gauge = (name: string, help: string, ...labelNames: string[]) => new Gauge({ name, help, labelNames, registers });
  const counter = (name: string, help: string, ...labelNames: string[]) => new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, ...labelNames: string[]) =>
    new Histogram({ name, help, labelNames, buckets: SECONDS, registers });

  const leader = gauge('leader_election_master_status', '1 while this replica leads', 'name');
  const depth = gauge('workqueue_depth', 'Keys that wait in the queue', 'name');
  const adds = counter('workqueue_adds_total', 'Keys added to the queue', 'name');
  const retries = counter('workqueue_retries_total', 'Keys added again after a failure', 'name');
  const waited = histogram('workqueue_queue_duration_seconds', 'Time that keys waited in the queue', 'name');
  const worked = histogram('workqueue_work_duration_seconds', 'Time that a key took to process', 'name');
  const results = counter('controller_runtime_reconcile_total', 'Reconciliations of one resource', 'controller', 'result');
  const durations = histogram('controller_runtime_reconcile_time_seconds', 'How long one reconciliation took', 'controller');
  const pools: Readonly<Record<keyof PoolGauges, Gauge>> = {
    desired: gauge('filemill_pool_desired_workers', 'Workers that the pool should have', 'pool'),
    workers: gauge('filemill_pool_live_workers', 'Workers whose pods are neither finished nor lost', 'pool'),
    idle: gauge('filemill_pool_idle_workers', 'Workers without an order', 'pool'),
    busy: gauge('filemill_pool_busy_workers', 'Workers with at least one order', 'pool'),
    queued: gauge('filemill_pool_queued_orders', 'Orders that wait for a worker; autoscalers scale on this', 'pool'),
    running: gauge('filemill_pool_running_orders', 'Orders that workers hold', 'pool'),
    oldestSeconds: gauge('filemill_pool_oldest_queued_seconds', 'Age of the oldest waiting order', 'pool'),
  };
  const degraded = gauge(
    'filemill_pool_degraded',
    '1 while the condition Degraded of the ToolchainPool is True: workers do not start, or do not take orders',
    'pool',
    'pool_namespace',
  );
  const created = counter('filemill_pool_workers_created_total', 'Jobs created for workers', 'pool');
  const dispatch = histogram('filemill_pool_dispatch_seconds', 'Time from the first waiting order to the Jobs created for it', 'pool');
  const uncaught = uncaughtCounter(registry);
  const conversions = gauge('filemill_conversion_jobs', 'ConversionJobs that exist', 'phase');
  let countConversions: () => Readonly<Record<string, number>> = () => ({});
  const watches = new Map<string, () => WatchState>();
  const objects = gauge('filemill_watch_objects', 'Objects in the cache', 'resource');
  const age = gauge('filemill_watch_silence_seconds', 'Time since the API server last sent anything', 'resource');
  const restarts = gauge('filemill_watch_restarts', 'Number of times that the watch was opened again', 'resource');
  const relists = gauge('filemill_watch_lists', 'Number of times that all objects were listed', 'resource');

  return {
    leading: (is) => leader.set({ name: 'filemill-controller' }, is ? 1 : 0),
    workQueue: (name) => ({
      added(waiting) {
        adds.inc({ name });
        depth.set({ name }, waiting);
      },
      started(waitedMs, waiting) {
        waited.observe({ name }, waitedMs / 1000);
        depth.set({ name }, waiting);
      },
      done: (workedMs) => worked.observe({ name }, workedMs / 1000),
      retried: () => retries.inc({ name }),
    }),
    reconciled(controller, result, seconds) {
      results.inc({ controller, result });
      durations.observe({ controller }, seconds);
    },
    pool(pool, gauges) {
      for (const [name, series] of Object.entries(pools)) {
        const value = gauges[name as keyof PoolGauges];
        if (value === undefined) series.remove({ pool });
        else series.set({ pool }, value);
      }
    },
    degraded: (pool, namespace, is) => degraded.set({ pool, pool_namespace: namespace }, is ? 1 : 0),
    forgetDegraded: (pool, namespace) => degraded.remove({ pool, pool_namespace: namespace }),
    workersCreated(pool, jobs, waitedSeconds) {
      created.inc({ pool }, jobs);
      if (waitedSeconds !== undefined) dispatch.observe({ pool }, waitedSeconds);
    },
    forget(pool) {
      for (const series of [...Object.values(pools), created, dispatch]) series.remove({ pool });
    },
    watching: (resource, read) => void watches.set(resource, read),
    conversions(count) {
      countConversions = count;
    },
    uncaught: (kind) => uncaught.inc({ kind }),
    async text() {
      for (const [phase, count] of Object.entries(countConversions())) conversions.set({ phase }, count);
      for (const [resource, read] of watches) {
        const state = read();
        objects.set({ resource }, state.objects);
        age.set({ resource }, state.sinceLastEventMs / 1000);
        restarts.set({ resource }, state.restarts);
        relists.set({ resource }, state.relists);
      }
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}
