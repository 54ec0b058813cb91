/** What is counted and measured: every label comes from a fixed set, so that no client can make the series grow. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  /** `route` is the pattern, never the address asked for. */
  requestEnded(method: string, route: string, status: number, seconds: number): void;
  uploaded(bytes: number): void;
  jobEnded(pool: string, status: string, reason: string): void;
  conversionEnded(engine: string, seconds: number): void;
  residentReplaced(program: string, why: string): void;
  /** Called at each scrape. */
  onScrape(read: () => Promise<void>): void;
  queueSeen(pool: string, waiting: number, held: number): void;
  text(): Promise<string>;
  readonly contentType: string;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'filemill_http_request_seconds',
    help: 'From the first byte of a request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    registers,
  });
  const uploads = new Counter({ name: 'filemill_uploaded_bytes_total', help: 'Bytes of files received', registers });
  const jobs = new Counter({
    name: 'filemill_jobs_ended_total',
    help: 'Jobs that ended',
    labelNames: ['pool', 'status', 'reason'],
    registers,
  });
  const conversions = new Histogram({
    name: 'filemill_conversion_seconds',
    help: 'Time an engine took for one job',
    labelNames: ['engine'],
    buckets: [0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers,
  });
  const residents = new Counter({
    name: 'filemill_residents_replaced_total',
    help: 'Warm processes that were replaced',
    labelNames: ['program', 'why'],
    registers,
  });
  const waiting = new Gauge({ name: 'filemill_orders_waiting', help: 'Orders that nobody holds yet', labelNames: ['pool'], registers });
  const held = new Gauge({ name: 'filemill_orders_held', help: 'Orders that a worker holds', labelNames: ['pool'], registers });
  let scrape = async () => {};
  return {
    requestEnded: (method, route, status, seconds) =>
      requests.observe({ method: METHODS.has(method) ? method : 'other', route, status }, seconds),
    uploaded: (bytes) => uploads.inc(bytes),
    jobEnded: (pool, status, reason) => jobs.inc({ pool, status, reason }),
    conversionEnded: (engine, seconds) => conversions.observe({ engine }, seconds),
    residentReplaced: (program, why) => residents.inc({ program, why }),
    onScrape(read) {
      scrape = read;
    },
    queueSeen(pool, waitingOrders, heldOrders) {
      waiting.set({ pool }, waitingOrders);
      held.set({ pool }, heldOrders);
    },
    async text() {
      await scrape();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}
