/** When a running job gives way to a client that holds no slot: it is stopped, and starts again behind the waiting jobs. */
import { type JobRecord, sourceBytes } from '../../jobs/record.ts';
import type { Delivery } from '../../queue/queue.ts';
import type { WorkerSettings } from '../settings.ts';

/** The reason with which the work of a job that gives way is aborted. */
export class GaveWay extends Error {
  override readonly name = 'GaveWay';
}

const MIB = 1 << 20;
/** A large file may honestly take long: for each MiB it may run so much longer, ms. */
const MS_PER_MIB = 1_000;
/** A check costs a question or two of NATS. Jobs must not all check at once, or many would give way to one order. */
const CHECK_MS = { express: 500, other: 2_000 };
/** How long a worker that could not learn who waits asks no more, ms: its user of NATS may be one of an older filemill. */
const UNKNOWN_MS = 60_000;

/**
 * How long a job may run before it gives way, if anybody waits then, ms. Jobs that gave way are not stopped for ever: the time doubles, so
 * that work that was stopped costs less than the work that is done.
 */
export function ownTimeMs(
  record: Pick<JobRecord, 'sources' | 'gaveWay'>,
  express: boolean,
  { expressSeconds, giveWaySeconds }: WorkerSettings['sharing'],
): number {
  if (express) return expressSeconds * 1000;
  return (giveWaySeconds * 1000 + (sourceBytes(record) / MIB) * MS_PER_MIB) * 2 ** (record.gaveWay ?? 0);
}

interface Watched {
  readonly ownTimeMs: number;
  readonly express: boolean;
  /** Called once, when another client waits and the job has used up its time. */
  readonly giveWay: () => void;
  /** The check failed. */
  readonly unknown: (error: unknown) => void;
}

/** @returns to be disposed of when the job shall not be stopped any more */
export function watchWaiters(
  delivery: Pick<Delivery, 'isWaitedFor'>,
  { ownTimeMs: firstMs, express, giveWay, unknown }: Watched,
): Disposable {
  let isOver = false;
  let timer: NodeJS.Timeout;
  const checkIn = (ms: number) => {
    timer = setTimeout(() => void check(), ms).unref();
  };
  const check = async () => {
    let pauseMs = CHECK_MS[express ? 'express' : 'other'];
    try {
      if (await delivery.isWaitedFor()) {
        if (!isOver) giveWay();
        return;
      }
    } catch (error) {
      unknown(error);
      pauseMs = UNKNOWN_MS;
    }
    if (!isOver) checkIn(pauseMs * (0.5 + Math.random()));
  };
  checkIn(firstMs);
  return {
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
