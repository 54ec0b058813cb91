/** What a cluster has stored, looked at past its API, and what upkeep makes of it at another time. */
import { createHash } from 'node:crypto';
import { expect, vi } from 'vitest';
import { hasEnded } from '../../../src/jobs/lifecycle.ts';
import { openNatsBatches } from '../../../src/jobs/nats/batches.ts';
import { openNatsIdempotency } from '../../../src/jobs/nats/idempotency.ts';
import { openNatsJobs } from '../../../src/jobs/nats/jobs.ts';
import { openBucket } from '../../../src/nats/bucket.ts';
import { jobOfKey, outputKey } from '../../../src/objects/keys.ts';
import { openS3 } from '../../../src/objects/s3/store.ts';
import { openNatsQueue } from '../../../src/queue/nats/queue.ts';
import { LOST_AFTER_MS } from '../../../src/upkeep/decide.ts';
import { sweep, type Tally, type Upkept } from '../../../src/upkeep/sweep.ts';
import { forgetUploads } from '../../../src/upkeep/uploads.ts';
import { openNatsUploads } from '../../../src/uploads/nats.ts';
import { bytesOf, collect } from '../../conformance/samples.ts';
import type { Cluster } from './cluster.ts';
import type { Ended } from './load.ts';

const HOUR = 3_600_000;

export interface Stores {
  readonly upkept: Upkept;
  /** What upkeep warned of. */
  readonly warnings: readonly string[];
  /** A run of upkeep as it would be so much later. */
  sweep(laterMs?: number, change?: Partial<Upkept>): Promise<Tally & { readonly uploads: number }>;
  /** All keys below a prefix. */
  keys(prefix?: string): Promise<string[]>;
  /** @throws unless each job that is done has one output, which is the one that its record names, and no other job has anything */
  expectOneWinnerEach(ended: readonly Ended[]): Promise<void>;
  /** How many jobs were claimed more than once. */
  takenOver(): Promise<number>;
  /** @throws unless a few hours and a day later upkeep has left no order, object or record */
  expectNothingLeft(): Promise<void>;
}

export async function openStores({ nats: servers, bucket }: Pick<Cluster, 'nats' | 'bucket'>): Promise<Stores> {
  const nats = await servers.connect();
  const objects = await openS3(bucket);
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message) };
  const uploads = openNatsUploads(nats);
  const upkept: Upkept = {
    jobs: openNatsJobs(nats),
    batches: openNatsBatches(nats),
    idempotency: openNatsIdempotency(nats),
    queue: openNatsQueue(nats),
    objects,
    clock: Date.now,
    log,
    queueMs: HOUR,
    longestJobMs: HOUR,
    maxOrphanShare: 0.25,
  };
  const keys = async (prefix = '') => (await collect(objects.scan(prefix))).map(({ key }) => key);

  const stores: Stores = {
    upkept,
    warnings,
    keys,

    async sweep(laterMs = 0, change = {}) {
      const then = { ...upkept, ...change, clock: () => Date.now() + laterMs };
      const tally = await sweep(then);
      return { ...tally, uploads: (await forgetUploads({ ...then, uploads })).expired };
    },

    async expectOneWinnerEach(ended) {
      expect(new Set(ended.map(({ id }) => id)).size).toBe(ended.length);
      // A replica that died before it could answer left a job that no client asks for: it ends as any. What a worker that froze sends may come late.
      await vi.waitFor(
        async () => {
          await stores.sweep(2 * LOST_AFTER_MS);
          const records = (await collect(upkept.jobs.scan())).map(({ record }) => record);
          expect(records.filter((record) => !hasEnded(record))).toEqual([]);
          // A file of no record at all is left for hours: its request may still be on its way.
          const known = new Set(records.map(({ id }) => id));
          const kept = (await keys('jobs/')).filter((key) => known.has(jobOfKey(key) ?? ''));
          expect(kept.toSorted()).toEqual(records.flatMap(({ output }) => output?.key ?? []).toSorted());
        },
        { timeout: 60_000, interval: 200 },
      );
      for (const { id, end } of ended) {
        const record = (await upkept.jobs.get(id))?.record;
        expect(record?.state, id).toBe(end === 'done' ? 'done' : 'error');
        if (record?.output === undefined) continue;
        expect(record.output.key, id).toBe(outputKey(id, record.attempt ?? ''));
        const content = await bytesOf(await objects.get(record.output.key));
        expect(createHash('sha256').update(content).digest('hex'), id).toBe(record.output.sha256);
      }
    },

    async takenOver() {
      return (await collect(upkept.jobs.scan())).filter(({ record }) => record.attempts > 1).length;
    },

    async expectNothingLeft() {
      // The first removes what has expired: an orphan behind more than a stretch of those is found by the second.
      await stores.sweep(5 * HOUR);
      await stores.sweep(5 * HOUR);
      expect(await keys()).toEqual([]);
      await stores.sweep(27 * HOUR);
      // The replicas' own upkeep, for which it is not so late yet, may have entered a job once more while its record went.
      await stores.sweep(27 * HOUR);
      for (const name of ['jobs', 'batches', 'idempotency', 'uploads'])
        expect(await collect(openBucket(nats, name).entries()), name).toEqual([]);
      const due = await nats.manager.streams.info('KV_due', { subjects_filter: '$KV.due.*.>' });
      expect(Object.keys(due.state.subjects ?? {})).toEqual([]);
      for await (const { config, state } of nats.manager.streams.list())
        if (config.name.startsWith('convert-')) expect(state.messages, config.name).toBe(0);
    },
  };
  return stores;
}
