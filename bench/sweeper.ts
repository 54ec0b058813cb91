/** Upkeep in a separate process, so that its cost can be measured: runs when it is told to. */
import { join } from 'node:path';
import { openNatsBatches } from '../src/jobs/nats/batches.ts';
import { openNatsIdempotency } from '../src/jobs/nats/idempotency.ts';
import { openNatsJobs } from '../src/jobs/nats/jobs.ts';
import { openSqliteBatches } from '../src/jobs/sqlite/batches.ts';
import { openSqliteIdempotency } from '../src/jobs/sqlite/idempotency.ts';
import { openSqliteJobs } from '../src/jobs/sqlite/jobs.ts';
import { connectNats } from '../src/nats/connection.ts';
import { openDirectory } from '../src/objects/directory.ts';
import { openS3 } from '../src/objects/s3/store.ts';
import type { S3Settings } from '../src/objects/settings.ts';
import { openNatsQueue } from '../src/queue/nats/queue.ts';
import { openSqliteQueue } from '../src/queue/sqlite.ts';
import { sweeperOver, type Tally, type Upkept } from '../src/upkeep/sweep.ts';
import { answer, given } from './child.ts';

export type Kept = { readonly folder: string } | { readonly servers: readonly string[]; readonly bucket: S3Settings };

export interface Swept {
  readonly tally: Tally;
  readonly cpuMs: number;
  readonly tookMs: number;
  /** By which the process has grown at most since it began to sweep. */
  readonly grownBytes: number;
}

const MEGABYTE = 1 << 20;
const LOOK_MS = 10;

async function storesOf(kept: Kept): Promise<Pick<Upkept, 'jobs' | 'batches' | 'idempotency' | 'queue' | 'objects'>> {
  if ('folder' in kept) {
    const path = join(kept.folder, 'filemill.db');
    return {
      jobs: openSqliteJobs(path, Date.now),
      batches: openSqliteBatches(path),
      idempotency: openSqliteIdempotency(path),
      queue: openSqliteQueue(path, Date.now, { capacity: 100_000 }),
      objects: await openDirectory(join(kept.folder, 'objects')),
    };
  }
  const nats = await connectNats({ servers: kept.servers, name: 'sweeper' });
  return {
    jobs: openNatsJobs(nats),
    batches: openNatsBatches(nats),
    idempotency: openNatsIdempotency(nats),
    queue: openNatsQueue(nats),
    objects: await openS3(kept.bucket),
  };
}

const stores = await storesOf(given<Kept>());
const log = { info: () => {}, warn: (about: object, message: string) => console.error(message, about) };
const limits = { queueMs: 3_600_000, longestJobMs: 3_600_000, maxOrphanShare: 0.25 };
const sweeper = sweeperOver({ ...stores, ...limits, clock: Date.now, log });

answer(async (): Promise<Swept> => {
  const before = process.memoryUsage.rss();
  let most = before;
  const looking = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, LOOK_MS);
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  const tally = await sweeper.run();
  const { user, system } = process.cpuUsage(cpu);
  clearInterval(looking);
  most = Math.max(most, process.memoryUsage.rss());
  return {
    tally,
    cpuMs: (user + system) / 1_000,
    tookMs: performance.now() - started,
    grownBytes: Math.ceil((most - before) / MEGABYTE) * MEGABYTE,
  };
});
