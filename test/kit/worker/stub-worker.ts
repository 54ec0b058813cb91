/** A worker whose loop is real and whose conversions are not. */
import { finish } from '../../../src/jobs/lifecycle.ts';
import { openNatsJobs } from '../../../src/jobs/nats/jobs.ts';
import { connectNats, type Nats } from '../../../src/nats/connection.ts';
import { Unreachable } from '../../../src/objects/store.ts';
import { UNHEARD_MS } from '../../../src/queue/nats/pool.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import { natsSignals } from '../../../src/signals/nats.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { startWorker, type WorkerLoop } from '../../../src/worker/orders/loop.ts';
import type { JobHandler } from '../../../src/worker/orders/process-order.ts';

interface Kind {
  /** What becomes of an order. */
  readonly behaviour: 'end' | 'die' | 'hang' | 'stall' | 'find the store away';
  readonly ackWaitMs: number;
  /** For how long one that stalls holds its thread, ms. */
  readonly stallMs?: number;
}

export interface Stub extends WorkerLoop {
  /** An order is in hand. */
  readonly began: Promise<void>;
  /** One that hangs comes to its end. */
  finish(): void;
}

export function startStub(nats: Nats, { behaviour, ackWaitMs, stallMs = 0 }: Kind): Stub {
  const began = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<void>();
  const handleJob: JobHandler = async (_, __, { signal }) => {
    began.resolve();
    if (behaviour === 'die') process.kill(process.pid, 'SIGKILL');
    if (behaviour === 'find the store away') throw new Unreachable('the object store cannot be reached');
    if (behaviour === 'stall') {
      await nats.keepAlive?.ready;
      nats.keepAlive?.repeat('worker.image.stub', 'here');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs);
    }
    if (behaviour === 'hang') await Promise.race([finished.promise, aborted(signal)]);
    const output = { key: 'k', filename: 'f.jpg', sizeBytes: 1, contentType: 'image/jpeg', sha256: '', files: 1 };
    return (record, now) => finish(record, now, { output, warnings: [], engine: { name: 'stub', version: '1' } });
  };
  const worker = startWorker({
    pool: 'image',
    heldDeliveries: new Map(),
    jobs: openNatsJobs(nats),
    queue: openNatsQueue(nats, { ackWaitMs, unheardMs: Math.min(ackWaitMs, UNHEARD_MS) }),
    signals: natsSignals(nats),
    grant: async () => ({ version: 1, inputs: [], output: '' }),
    handleJob,
    log: createLog('silent'),
    metrics: createMetrics(),
    clock: Date.now,
    newAttempt: () => crypto.randomUUID().replaceAll('-', ''),
  });
  return { ...worker, began: began.promise, finish: finished.resolve };
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** In a separate process, which ends by being killed. */
export async function runStub({
  servers,
  name,
  ...kind
}: Kind & { readonly servers: readonly string[]; readonly name: string }): Promise<void> {
  startStub(await connectNats({ servers, name, inbox: `_INBOX.${name}`, keepsAlive: true }), kind);
}
