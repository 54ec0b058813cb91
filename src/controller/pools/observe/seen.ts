/** What the caches, NATS and the workers report of a pool. */
import type { ToolchainPool } from '../../../contracts/kubernetes/toolchain-pool.ts';
import type { WorkerPresence } from '../../../pools/registry.ts';
import type { KubeJob, Pod } from '../objects.ts';
import type { Demand } from '../observation.ts';

export interface PoolObjects {
  readonly pool: ToolchainPool;
  readonly jobs: readonly KubeJob[];
  readonly podOf: (job: KubeJob) => Pod | undefined;
  /** All pods of the pool, including those without a Job. */
  readonly pods: readonly Pod[];
  /** By worker. */
  readonly heartbeats: ReadonlyMap<string, WorkerPresence>;
  /** Whether this process has been subscribed for long enough to have received a heartbeat of every worker. */
  readonly listening: boolean;
  readonly demand: Demand | undefined;
  /** Hash of the pool's current template. */
  readonly template: string;
  readonly enginesKnown: boolean;
  /** How long a pod may run without a heartbeat, ms. */
  readonly silentMs: number;
  readonly now: number;
}
