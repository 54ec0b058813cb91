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
const CHECK_MS = { express: 500, other: 1_000 };
/** How long a worker that failed to learn whether clients wait does not ask again, ms: an older filemill may have made its NATS user, without that permission. */
const UNKNOWN_MS = 60_000;

/** How long a job may run before it gives way, if another client waits then, ms. */
export interface OwnTimes {
  /** Where its client has no other job in the pool. */
  readonly onlyMs: number;
  /** Where it has: a client that holds several slots, or sends one job after another, loses less by waiting. */
  readonly severalMs: number;
}

/** Jobs that gave way are not stopped for ever: the time doubles, so that work that was stopped costs less than the work that is done. */
export function ownTimes(
  record: Pick<JobRecord, 'sources' | 'gaveWay'>,
  express: boolean,
  { expressSeconds, severalSeconds, giveWaySeconds }: WorkerSettings['sharing'],
): OwnTimes {
  if (express) return { onlyMs: expressSeconds * 1000, severalMs: expressSeconds * 1000 };
  const { gaveWay = 0 } = record;
  const sizeMs = (sourceBytes(record) / MIB) * MS_PER_MIB;
  const onlyMs = (giveWaySeconds * 1000 + sizeMs) * 2 ** gaveWay;
  const severalMs = gaveWay === 0 ? severalSeconds * 1000 + sizeMs : onlyMs / 2;
  return { onlyMs, severalMs: Math.min(onlyMs, severalMs) };
}

interface Watched extends OwnTimes {
  readonly express: boolean;
  /** Called once, when another client waits and the job has used up its time. */
  readonly giveWay: () => void;
  /** The check failed. */
  readonly unknown: (error: unknown) => void;
}

/** @returns dispose of it once the job must no longer be stopped */
export function watchWaiters(
  delivery: Pick<Delivery, 'isWaitedFor' | 'isOneOfSeveral'>,
  { onlyMs, severalMs, express, giveWay, unknown }: Watched,
): Disposable {
  const ownUntil = performance.now() + onlyMs;
  let isOver = false;
  let timer: NodeJS.Timeout;
  const checkIn = (ms: number) => {
    timer = setTimeout(() => void check(), ms).unref();
  };
  const check = async () => {
    let pauseMs = CHECK_MS[express ? 'express' : 'other'];
    try {
      const isTimeUp = performance.now() >= ownUntil;
      // Over NATS the first question takes less than the second.
      if ((await delivery.isWaitedFor()) && (isTimeUp || (await delivery.isOneOfSeveral()))) {
        if (!isOver) giveWay();
        return;
      }
    } catch (error) {
      unknown(error);
      pauseMs = UNKNOWN_MS;
    }
    if (!isOver) checkIn(pauseMs * (0.5 + Math.random()));
  };
  checkIn(severalMs);
  return {
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
