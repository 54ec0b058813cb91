/** What every route of the API gets. */
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
import type { ClientLimits } from '../limits/limits.ts';
import type { ObjectStore } from '../objects/store.ts';
import type { StorageWatch } from '../objects/watch.ts';
import type { Pool, RemovedPool } from '../pools/registry.ts';
import type { Queue } from '../queue/queue.ts';
import type { Room } from '../queue/room.ts';
import type { Signals } from '../signals/signals.ts';
import type { Log } from '../telemetry/log.ts';
import type { LoopWatch } from '../telemetry/loop.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Uploads } from '../uploads/uploads.ts';
import type { ApiSettings } from './settings.ts';

/** The page for browsers, as it was built. */
/** What a browser without JavaScript is shown, in one language: HTML with addresses that begin at `/`. Names between `@@` are filled in. */
export interface PlainViews {
  readonly form: string;
  /** `@@name@@`. */
  readonly working: string;
  /** `@@href@@`, `@@name@@`, `@@size@@`. */
  readonly done: string;
  /** `@@text@@`. */
  readonly failed: string;
  /** What is said of a failure, by its code or reason; of others the service's own sentence is. */
  readonly sentences: Readonly<Record<string, string>>;
}

export interface PageFiles {
  /** HTML with `<base href="/">` and an empty `<div id="app">`. */
  readonly document: string;
  /** By language: what that element shows at `/`, with addresses that begin at `/`. */
  readonly firstViews: ReadonlyMap<string, string>;
  /** By language. */
  readonly plainViews: ReadonlyMap<string, PlainViews>;
  /** By name, below `/assets/`: another content has another name. */
  readonly assets: ReadonlyMap<string, { readonly contentType: string; readonly bytes: Buffer }>;
}

export interface ApiDeps {
  readonly settings: ApiSettings;
  /** The page for browsers; undefined where it is switched off, or was not built. */
  readonly page?: PageFiles | undefined;
  /** Replaced when the workers' abilities change: read it for each request. */
  readonly catalog: Catalog;
  /** The catalog as it would be if all workers that have yet to report had all engines of their toolchains; undefined if no worker is awaited. */
  readonly expected?: Catalog | undefined;
  readonly jobs: JobStore;
  readonly batches: BatchStore;
  readonly idempotency: IdempotencyStore;
  readonly queue: Queue;
  readonly room: Room;
  readonly objects: ObjectStore;
  /** Where files are on this machine's disk. */
  readonly storage?: Pick<StorageWatch, 'use'>;
  readonly uploads: Uploads;
  readonly signals: Signals;
  readonly encryption: Encryption;
  /** Detects a file's format. */
  readonly judge: Judge;
  /** Undefined where files are not fetched by URL. */
  readonly fetch: Fetch | undefined;
  /** Fetches sources of ConversionJobs that need credentials, and reads other buckets; undefined if fetching is disabled. */
  readonly privately?: PrivateFetch | undefined;
  /** Judges where a web page is; undefined where none is rendered. */
  readonly findPage: FindPage | undefined;
  readonly limits: ClientLimits;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly loop: LoopWatch;
  readonly clock: () => number;
  /** 128 random bits in hex. */
  readonly newId: () => string;
  readonly version: string;
  /** Engines that this installation lacks, or that do not work at present, and why: the end of a sentence. Read it for each request. */
  readonly missing: readonly { readonly engine: Engine; readonly reason: string }[];
  /** How converters are confined; undefined where workers are other processes. */
  readonly confinement?: { readonly landlockAbi: number; readonly counts: 'cgroup' | 'launcher' } | undefined;
  /** Replaced when pools change: read it for each request. */
  readonly pools: ReadonlyMap<string, Pool>;
  /** Removed pools, in which orders may still wait; none where this process runs all pools. */
  readonly removedPools?: ReadonlyMap<string, RemovedPool>;
  /** Why this process's workers cannot work; undefined where there may be workers elsewhere. */
  readonly fault?: () => Fault | undefined;
  /** Aborted at SIGTERM: from then on new work is refused, and requests that wait for a job are answered at once. */
  readonly stopping: AbortSignal;
}
