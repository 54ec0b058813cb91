/** Publishes orders from a separate process, as an API replica does: the record first. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ORDER_VERSION } from '../src/contracts/messages/order.ts';
import { newRecord } from '../src/jobs/lifecycle.ts';
import { openNatsJobs } from '../src/jobs/nats/jobs.ts';
import { connectNats } from '../src/nats/connection.ts';
import { openNatsQueue } from '../src/queue/nats/queue.ts';
import { answer, given } from './child.ts';
import { sharedNow } from './clock.ts';

export interface Wish {
  /** Records to be made, for orders to come. */
  readonly records?: number;
  /** Orders to be published a second, each with its record; undefined: of all records that were made, as fast as they are taken. */
  readonly paced?: { readonly perSecond: number; readonly count: number };
}

export interface Published {
  /** Shared ms. */
  readonly startedAt: number;
  /** When each order was about to be published, by job: shared ms. */
  readonly asked: ReadonlyMap<string, number>;
}

/** Orders on their way at once, as of a busy replica. */
const TOGETHER = 64;

const { servers, pool } = given<{ readonly servers: readonly string[]; readonly pool: string }>();
const nats = await connectNats({ servers, name: 'bench publisher' });
const [jobs, queue] = [openNatsJobs(nats), openNatsQueue(nats)];

async function record(): Promise<string> {
  const id = randomBytes(16).toString('hex');
  await jobs.create({
    ...newRecord(id, Date.now()),
    ...{ pool, lane: 'interactive', filename: 'a.png', options: {}, warnings: [] },
    sources: [{ part: 0, sizeBytes: 1, format: 'png' }],
    target: { format: 'jpg', extension: 'jpg' },
  });
  return id;
}

let ready: readonly string[] = [];

answer<Wish>(async ({ records, paced }): Promise<Published> => {
  const asked = new Map<string, number>();
  const publish = async (jobId: string) => {
    asked.set(jobId, sharedNow());
    if ((await queue.publish({ version: ORDER_VERSION, jobId, pool, lane: 'interactive' })) !== 'accepted')
      throw new Error('the queue is full');
  };
  const startedAt = sharedNow();
  if (records !== undefined) ready = await spread(records, record);
  else if (paced === undefined) await spread(ready.length, (index) => publish(ready[index] ?? ''));
  else {
    const all: Promise<void>[] = [];
    for (let index = 0; index < paced.count; index++) {
      await pause(Math.max(0, startedAt + (index * 1000) / paced.perSecond - sharedNow()));
      all.push(record().then(publish));
    }
    await Promise.all(all);
  }
  return { startedAt, asked };
});

/** So many calls, some at a time. */
async function spread<T>(count: number, call: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const one = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await call(index);
  };
  await Promise.all(Array.from({ length: TOGETHER }, one));
  return results;
}
