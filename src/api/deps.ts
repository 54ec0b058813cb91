/** What the API is given, by seven nouns: each route and function takes those that it uses. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../catalog/engine.ts';
import type { Fault } from '../contracts/messages/fault.ts';
import type { Fetch } from '../fetch/download/download.ts';
import type { FindPage } from '../fetch/pages/page.ts';
import type { PrivateFetch } from '../fetch/private.ts';
import type { Sender } from '../fetch/send.ts';
import type { BatchStore } from '../jobs/batch.ts';
import type { S3Login } from '../jobs/destination.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { IdempotencyStore } from '../jobs/idempotency.ts';
import type { Durability, JobStore } from '../jobs/store.ts';
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
import type { PageFiles } from './page-files.ts';
import type { ApiSettings } from './settings.ts';

export interface ApiDeps {
  readonly jobs: ApiJobs;
  readonly files: ApiFiles;
  readonly catalogue: ApiCatalogue;
  readonly limits: ClientLimits;
  /** Undefined where no messages are sent at the ends of jobs. */
  readonly webhooks?: ApiWebhooks | undefined;
  /** Undefined where no results are stored elsewhere. */
  readonly destinations?: ApiDestinations | undefined;
  readonly telemetry: ApiTelemetry;
  readonly service: ApiService;
}

/** From a job's record to its place in a queue. */
interface ApiJobs {
  readonly store: JobStore;
  /** What all these stores write together; undefined where each change is durable when it is made. */
  readonly durability?: Durability | undefined;
  readonly batches: BatchStore;
  readonly idempotency: IdempotencyStore;
  readonly queue: Queue;
  readonly room: Room;
  readonly signals: Signals;
  /** Encrypts the passwords in records; also hashes clients and keys. */
  readonly encryption: Encryption;
  /** The time of records, ms since the epoch: the same for all replicas. */
  readonly clock: () => number;
}

/** Where files come from, what they are, and where they are stored. */
interface ApiFiles {
  readonly objects: ObjectStore;
  /** Where files are on this machine's disk. */
  readonly storage?: Pick<StorageWatch, 'use'>;
  readonly uploads: Uploads;
  /** Detects a file's format. */
  readonly judge: Judge;
  /** Undefined where files are not fetched by URL. */
  readonly fetch: Fetch | undefined;
  /** Fetches sources of ConversionJobs that need credentials, and reads other buckets; undefined if fetching is disabled. */
  readonly privately?: PrivateFetch | undefined;
  /** Judges where a web page is; undefined where none is rendered. */
  readonly findPage: FindPage | undefined;
  /** The operator's, of the names of outputs. */
  readonly suffix: string;
}

/** What can be converted, and by which pools. Each member is replaced when it changes: read it for each request. */
interface ApiCatalogue {
  readonly current: Catalog;
  /** The catalog as it would be if all workers that have yet to report had all engines of their toolchains; undefined if no worker is awaited. */
  readonly expected?: Catalog | undefined;
  /** Engines that this installation lacks, or that do not work at present, and why: the end of a sentence. */
  readonly missing: readonly { readonly engine: Engine; readonly reason: string }[];
  readonly pools: ReadonlyMap<string, Pool>;
  /** Removed pools, in which orders may still wait; none where this process runs all pools. */
  readonly removedPools?: ReadonlyMap<string, RemovedPool>;
}

/** Messages to clients at the ends of their jobs. */
interface ApiWebhooks {
  /** Whether a URL is one that may be sent to, as far as it can be told without a look at its server. @throws Failure `URL_REFUSED` */
  readonly judge: Sender['judge'];
  /** With which messages can be verified: `whpk_…`, the first key's first. */
  readonly publicKeys: readonly string[];
  /** The job's end is to be noticed at once. */
  readonly follow: (jobId: string) => void;
}

/** Objects in S3 stores that requests name. */
interface ApiPlaces {
  /** Whether a client may use a store so. @throws Failure `INVALID_OPTION` */
  check(login: S3Login, place: { readonly bucket: string; readonly key: string }, network: string): void;
  /** @returns a URL for one request @throws Failure `INVALID_OPTION`, `OVERLOADED` */
  presign(login: S3Login, method: 'GET' | 'PUT', place: { readonly bucket: string; readonly key: string }): Promise<string>;
}

/** Results that are stored where clients want them. */
interface ApiDestinations {
  /** Whether a URL is one that may be sent to, as far as it can be told without a look at its server. @throws Failure `URL_REFUSED` */
  readonly judge: Sender['judge'];
  /** Objects in S3 stores. */
  readonly places: ApiPlaces;
  /** The end of the job's conversion is to be noticed at once. */
  readonly follow: (jobId: string) => void;
}

interface ApiTelemetry {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly loop: LoopWatch;
}

/** This process: how it is set up, and whether it takes work. */
interface ApiService {
  readonly settings: ApiSettings;
  readonly version: string;
  /** Which commit it was built from, where that is known. */
  readonly commit?: string | undefined;
  /** The page for browsers; undefined where it is switched off, or was not built. */
  readonly page?: PageFiles | undefined;
  /** 128 random bits in hex. */
  readonly newId: () => string;
  /** Aborted at SIGTERM: from then on new work is refused, and requests that wait for a job are answered at once. */
  readonly stopping: AbortSignal;
  /** Why this process's workers cannot work; undefined where there may be workers elsewhere. */
  readonly fault?: () => Fault | undefined;
  /** How converters are confined; undefined where workers are other processes. */
  readonly confinement?: { readonly landlockAbi: number; readonly counts: 'cgroup' | 'launcher' } | undefined;
}
