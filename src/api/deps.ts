/** What the API is made of, handed to every route. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../catalog/engine.ts';
import type { Fault } from '../contracts/messages/fault.ts';
import type { Fetch } from '../fetch/download/download.ts';
import type { FindPage } from '../fetch/pages/page.ts';
import type { PrivateFetch } from '../fetch/private.ts';
import type { BatchStore } from '../jobs/batch.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { IdempotencyStore } from '../jobs/idempotency.ts';
import type { JobStore } from '../jobs/store.ts';
import type { Judge } from '../judge/judge.ts';
import type { Limits } from '../limits/limits.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { Pool, RemovedPool } from '../pools/registry.ts';
import type { Queue } from '../queue/queue.ts';
import type { Room } from '../queue/room.ts';
import type { Signals } from '../signals/signals.ts';
import type { Log } from '../telemetry/log.ts';
import type { LoopWatch } from '../telemetry/loop.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Uploads } from '../uploads/uploads.ts';
import type { ApiSettings } from './settings.ts';

export interface ApiDeps {
  readonly settings: ApiSettings;
  /** Another one whenever what workers can do has changed: to be read anew for each request. */
  readonly catalog: Catalog;
  readonly jobs: JobStore;
  readonly batches: BatchStore;
  readonly idempotency: IdempotencyStore;
  readonly queue: Queue;
  readonly room: Room;
  readonly objects: ObjectStore;
  readonly uploads: Uploads;
  readonly signals: Signals;
  readonly encryption: Encryption;
  /** Tells what a file is. */
  readonly judge: Judge;
  /** Undefined where files are not fetched by URL. */
  readonly fetch: Fetch | undefined;
  /** Fetches sources of ConversionJobs that need credentials, and reaches buckets of their own; undefined where nothing is fetched. */
  readonly privately?: PrivateFetch | undefined;
  /** Judges where a web page is; undefined where none is rendered. */
  readonly findPage: FindPage | undefined;
  readonly limits: Limits;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly loop: LoopWatch;
  readonly clock: () => number;
  /** 128 random bits in hex. */
  readonly newId: () => string;
  readonly version: string;
  /** Engines that this installation lacks. */
  readonly missing: readonly { readonly engine: Engine; readonly binaries: readonly string[] }[];
  /** As they are now: to be read anew for each request. */
  readonly pools: ReadonlyMap<string, Pool>;
  /** Pools that are no more, in which orders may wait still; none where this process has the only ones. */
  readonly removedPools?: ReadonlyMap<string, RemovedPool>;
  /** What keeps the only worker that there is from working; where there may be others, nobody asks. */
  readonly fault?: () => Fault | undefined;
  /** Aborted at SIGTERM: from then on no new work is taken, and whoever waits for a job is told how it stands. */
  readonly stopping: AbortSignal;
}
