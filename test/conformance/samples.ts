/** Records, orders and bytes for the suites. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Order } from '../../src/contracts/messages/order.ts';
import type { JobRecord } from '../../src/jobs/record.ts';
import type { Pool } from '../../src/pools/registry.ts';

/** Ms since the epoch at which the suites begin. */
export const START = 1_800_000_000_000;
export const HOUR = 3_600_000;

export const jobId = (number: number): string => number.toString(16).padStart(32, '0');
export const someId = (): string => randomBytes(16).toString('hex');

export const aRecord = (change: Partial<JobRecord> = {}): JobRecord => {
  const id = change.id ?? someId();
  return {
    version: 1,
    id,
    state: 'queued',
    pool: 'image',
    lane: 'interactive',
    createdAt: START,
    expiresAt: START + 2 * HOUR,
    filename: 'photo.png',
    sources: [{ part: 0, sizeBytes: 3, format: 'png' }],
    target: { format: 'jpg', extension: 'jpg' },
    options: {},
    attempts: 0,
    warnings: [],
    ...change,
  };
};

export const anOrder = (change: Partial<Order> = {}): Order => ({
  version: 1,
  jobId: someId(),
  pool: 'image',
  lane: 'interactive',
  ...change,
});

/** With one idle worker that can do pictures. */
export const aPool = (name: string, change: Partial<Pool> = {}): Pool => ({
  name,
  toolchain: 'image',
  paused: false,
  preference: 0,
  capacity: 0,
  workers: 1,
  isHeard: (change.workers ?? 1) > 0,
  busy: 0,
  engines: new Map([['sharp', '0.35.0']]),
  seenAt: 1,
  degraded: false,
  waitMs: 0,
  ...change,
});

export const streamOf = (bytes: Uint8Array, chunk = 16_384): Readable => {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; at += chunk) chunks.push(bytes.subarray(at, at + chunk));
  return Readable.from(chunks, { objectMode: false });
};

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export const bytesOf = async (stream: AsyncIterable<Uint8Array>): Promise<Buffer> => Buffer.concat(await collect(stream));

/** A promise and the way to settle it. */
export const signalled = (): { readonly promise: Promise<void>; readonly resolve: () => void } => Promise.withResolvers<void>();
