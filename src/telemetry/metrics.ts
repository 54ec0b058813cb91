/** What is counted and measured: every label comes from a fixed set, so that no client can make the series grow. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** How often Node's own histogram of lags looks, ms: the usual 10 wakes an idle process a hundred times a second. */
export const LAG_EVERY_MS = 200;

export interface PoolSeen {
  readonly pool: string;
  readonly workers: number;
  readonly busy: number;
  /** By engine. */
  readonly versions: ReadonlyMap<string, string>;
  /** Undefined if the queue did not answer. */
  readonly depth: { readonly waiting: number; readonly held: number; readonly oldestMs: number | undefined } | undefined;
}

export interface Metrics {
  /** `route` is the pattern, never the requested URL. */
  requestEnded(method: string, route: string, status: number, seconds: number): void;
  /** @param route of a request that was in flight, or what else this process does */
  loopHeld(route: string, seconds: number): void;
  uploaded(bytes: number): void;
  jobEnded(pool: string, status: string, reason: string): void;
  /** A conversion was stopped because another client waited; its order was requeued. */
  jobGaveWay(pool: string): void;
  conversionEnded(engine: string, seconds: number): void;
  /** A conversion has done without something that its source has and its target could contain. */
  propertyLost(engine: string, property: string): void;
  residentReplaced(program: string, why: string): void;
  /** All engines of this process that do not work, with the kind of their defect by id: the series of others are removed. */
  enginesWithdrawn(defects: ReadonlyMap<string, string>): void;
  /** @param fresh what makes the process of a file a new one */
  residentStarted(program: string, fresh: 'fork' | 'process' | 'no'): void;
  /** @param code the system's, such as EMFILE */
  spawnFailed(code: string): void;
  /** An uncaught error: the role is about to end. */
  uncaught(kind: Uncaught): void;
  /** @param what an outcome of the role egress */
  egressAsked(what: string): void;
  /** @param outcome of an attempt to send the message at a job's end, from a fixed set */
  webhookSent(outcome: string, seconds: number): void;
  resultStored(outcome: string, seconds: number): void;
  /** @param kind of record, from a fixed set */
  recordUnreadable(kind: string): void;
  /** Called at each scrape. */
  onScrape(read: () => Promise<void>): void;
  /** Just before a scrape. */
  storageSeen(use: { readonly usedBytes: number | undefined; readonly freeBytes: number; readonly full: string | undefined }): void;
  /** All declared pools, with their current state: the series of others are removed. Ages in ms. */
  poolsSeen(pools: readonly PoolSeen[]): void;
  /** @param counts of the devices that a toolchain can use here, by kind */
  devicesFound(toolchain: string, counts: Readonly<Record<string, number>>): void;
  /** A program of the toolchain could not use a device that was found, and the processor did its work. */
  deviceRefused(toolchain: string): void;
  /** @param whole by id of a model, whether it can be used here */
  modelsFound(whole: ReadonlyMap<string, boolean>): void;
  /** The state of this process, if it is a worker. */
  workerSeen(worker: { readonly slots: number; readonly busy: number }): void;
  /** As of the last second: to collect them costs more than to ask for them. */
  text(): Promise<string>;
  readonly contentType: string;
}

const UNCAUGHT = ['exception', 'rejection'] as const;
/** An uncaught exception, or an unhandled rejection. */
export type Uncaught = (typeof UNCAUGHT)[number];

/** Any other code is counted as `other`. */
const SPAWN_CODES = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM', 'ENOENT', 'EACCES']);
/** A scrape within this time of another gets the same figures, ms. */
const SCRAPE_MS = 1_000;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS });
  const requests = new Histogram({
    name: 'filemill_http_request_seconds',
    help: 'Time from the first byte of a request to the end of its response',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    registers,
  });
  const holds = new Histogram({
    name: 'filemill_event_loop_blocked_seconds',
    help: 'How long the event loop was blocked, by the latest route in flight; blocks of less than 50 ms are not counted',
    labelNames: ['route'],
    buckets: [0.1, 0.2, 0.5, 1, 2, 5, 10, 30],
    registers,
  });
  const uploads = new Counter({ name: 'filemill_uploaded_bytes_total', help: 'Bytes of files received', registers });
  const jobs = new Counter({
    name: 'filemill_jobs_ended_total',
    help: 'Jobs that ended',
    labelNames: ['pool', 'status', 'reason'],
    registers,
  });
  const gaveWay = new Counter({
    name: 'filemill_jobs_gave_way_total',
    help: 'Conversions that were stopped because other clients waited; their orders were requeued',
    labelNames: ['pool'],
    registers,
  });
  const conversions = new Histogram({
    name: 'filemill_conversion_seconds',
    help: 'Time that an engine took for one job',
    labelNames: ['engine'],
    buckets: [0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers,
  });
  const losses = new Counter({
    name: 'filemill_fidelity_lost_total',
    help: 'Properties that a source has, that its result could have, and that it does not have',
    labelNames: ['engine', 'property'],
    registers,
  });
  const residents = new Counter({
    name: 'filemill_residents_replaced_total',
    help: 'Resident programs that were replaced',
    labelNames: ['program', 'why'],
    registers,
  });
  const withdrawn = new Gauge({
    name: 'filemill_engine_withdrawn',
    help: 'Always 1: engines of this process that failed their trial with a known good file, and why',
    labelNames: ['engine', 'reason'],
    registers,
  });
  const starts = new Counter({
    name: 'filemill_residents_started_total',
    help: 'Resident programs that were started, by how they separate files: `fork`, a forked process for each file; `process`, a new program for each file; `no`, many files in one process',
    labelNames: ['program', 'fresh'],
    registers,
  });
  const spawns = new Counter({
    name: 'filemill_spawn_failures_total',
    help: 'Processes that could not be started; their orders were requeued',
    labelNames: ['code'],
    registers,
  });
  const uncaught = uncaughtCounter(registry);
  const egress = new Counter({
    name: 'filemill_egress_requests_total',
    help: 'Requests to the role egress, by outcome',
    labelNames: ['what'],
    registers,
  });
  const webhooks = new Histogram({
    name: 'filemill_webhook_seconds',
    help: 'Time of attempts to send the message at the end of a job, by outcome: `delivered`, `again` (another attempt follows), `failed`',
    labelNames: ['outcome'],
    buckets: [0.05, 0.2, 1, 5, 30],
    registers,
  });
  const destinations = new Histogram({
    name: 'filemill_destination_seconds',
    help: 'Time of attempts to store a result where its request wants it, by outcome: `stored`, `again` (another attempt follows), `failed`',
    labelNames: ['outcome'],
    buckets: [0.05, 0.2, 1, 5, 30, 120, 600],
    registers,
  });
  const unreadable = new Counter({
    name: 'filemill_unreadable_records_total',
    help: 'Stored records that were skipped because they cannot be read, by kind; each attempt to read one counts',
    labelNames: ['kind'],
    registers,
  });
  const ofPools = (name: string, help: string) => new Gauge({ name: `filemill_pool_${name}`, help, labelNames: ['pool'], registers });
  const pools = {
    workers: ofPools('workers', 'Processes that take orders'),
    busy: ofPools('busy', 'Orders that workers report to hold'),
    waiting: ofPools('waiting', 'Orders that wait for a worker'),
    running: ofPools('running', 'Orders that are delivered to workers'),
    oldest: ofPools('oldest_seconds', 'Age of the oldest waiting order; 0 if none waits'),
  };
  const engines = new Gauge({
    name: 'filemill_pool_engine_info',
    help: 'Always 1: the engines of a pool, with their versions as last reported',
    labelNames: ['pool', 'engine', 'version'],
    registers,
  });
  const worker = {
    slots: new Gauge({ name: 'filemill_worker_slots', help: 'Orders that this worker can hold', registers }),
    busy: new Gauge({ name: 'filemill_worker_busy', help: 'Orders that this worker holds', registers }),
  };
  const devices = new Gauge({
    name: 'filemill_worker_devices',
    help: 'Devices that this process found for a toolchain that can use them; 0: the toolchain uses the processors',
    labelNames: ['toolchain', 'kind'],
    registers,
  });
  const refusedDevices = new Counter({
    name: 'filemill_worker_device_refusals_total',
    help: 'Steps whose program could not use its device, for example because its memory was full, so that the processor did the work',
    labelNames: ['toolchain'],
    registers,
  });
  const models = new Gauge({
    name: 'filemill_model_usable',
    help: 'Whether a model is installed here, whole and unchanged; 0: the tools that need it use another method, or are switched off',
    labelNames: ['model'],
    registers,
  });
  const storage = {
    used: new Gauge({
      name: 'filemill_storage_used_bytes',
      help: 'Size of the files in the data folder, if storage.maxBytes is set',
      registers,
    }),
    free: new Gauge({ name: 'filemill_storage_free_bytes', help: 'Free bytes in the file system of the data folder', registers }),
    full: new Gauge({ name: 'filemill_storage_full', help: '1 while new work is refused for lack of space', registers }),
  };
  let scrape = async () => {};
  let latest: { readonly since: number; readonly text: Promise<string> } | undefined;
  const readAll = async () => {
    await scrape();
    return registry.metrics();
  };
  return {
    requestEnded: (method, route, status, seconds) =>
      requests.observe({ method: METHODS.has(method) ? method : 'other', route, status }, seconds),
    loopHeld: (route, seconds) => holds.observe({ route }, seconds),
    uploaded: (bytes) => uploads.inc(bytes),
    jobEnded: (pool, status, reason) => jobs.inc({ pool, status, reason }),
    conversionEnded: (engine, seconds) => conversions.observe({ engine }, seconds),
    propertyLost: (engine, property) => losses.inc({ engine, property }),
    residentReplaced: (program, why) => residents.inc({ program, why }),
    enginesWithdrawn(defects) {
      withdrawn.reset();
      for (const [engine, reason] of defects) withdrawn.set({ engine, reason }, 1);
    },
    residentStarted: (program, fresh) => starts.inc({ program, fresh }),
    jobGaveWay: (pool) => gaveWay.inc({ pool }),
    spawnFailed: (code) => spawns.inc({ code: SPAWN_CODES.has(code) ? code : 'other' }),
    storageSeen({ usedBytes, freeBytes, full }) {
      storage.used.set(usedBytes ?? 0);
      storage.free.set(freeBytes);
      storage.full.set(full === undefined ? 0 : 1);
    },
    uncaught: (kind) => uncaught.inc({ kind }),
    egressAsked: (what) => egress.inc({ what }),
    webhookSent: (outcome, seconds) => webhooks.observe({ outcome }, seconds),
    resultStored: (outcome, seconds) => destinations.observe({ outcome }, seconds),
    recordUnreadable: (kind) => unreadable.inc({ kind }),
    onScrape(read) {
      scrape = read;
    },
    poolsSeen(seen) {
      for (const gauge of [...Object.values(pools), engines]) gauge.reset();
      for (const { pool, workers, busy, depth, versions } of seen) {
        for (const [engine, version] of versions) engines.set({ pool, engine, version }, 1);
        pools.workers.set({ pool }, workers);
        pools.busy.set({ pool }, busy);
        if (depth === undefined) continue;
        pools.waiting.set({ pool }, depth.waiting);
        pools.running.set({ pool }, depth.held);
        pools.oldest.set({ pool }, (depth.oldestMs ?? 0) / 1000);
      }
    },
    devicesFound(toolchain, counts) {
      for (const [kind, count] of Object.entries(counts)) devices.set({ toolchain, kind }, count);
    },
    deviceRefused: (toolchain) => refusedDevices.inc({ toolchain }),
    modelsFound(whole) {
      for (const [model, can] of whole) models.set({ model }, can ? 1 : 0);
    },
    workerSeen({ slots, busy }) {
      worker.slots.set(slots);
      worker.busy.set(busy);
    },
    text() {
      const now = performance.now();
      if (latest === undefined || now - latest.since >= SCRAPE_MS) latest = { since: now, text: readAll() };
      return latest.text;
    },
    contentType: registry.contentType,
  };
}

/** The same counter for every role. It has both series from the start: an increase from nothing is none to Prometheus. */
export function uncaughtCounter(registry: Registry): Counter<'kind'> {
  const counter = new Counter({
    name: 'filemill_uncaught_errors_total',
    help: 'Uncaught errors; after the first one the role finishes what it can and exits',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of UNCAUGHT) counter.inc({ kind }, 0);
  return counter;
}
