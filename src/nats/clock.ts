/** The NATS servers' time, for processes whose own clocks may be wrong: the one clock that all of them share. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Nats } from './connection.ts';
import { isNatsNotFound } from './unavailable.ts';

export interface NatsClock {
  /** Ms since the epoch. */
  readonly now: () => number;
  close(): void;
}

/** Between two requests for the time, ms: quartz drifts by milliseconds meanwhile. */
const ASK_MS = 60_000;
/** A response that took longer is too inexact, ms: the error is up to half the round trip. */
const SLOWEST_MS = 1_000;
/** How often the time is requested at the start, and the pause between, ms: a replica may not have created the stream yet. */
const TRIES = 60;
const PAUSE_MS = 1_000;

/**
 * Extrapolated from the servers' last response by a monotonic clock (`performance.now`).
 * @param stream any whose info this user may request
 * @throws Unavailable · Error if the servers' time cannot be read
 */
export async function openClock({ manager, withRetry, onReconnect }: Nats, stream: string): Promise<NatsClock> {
  let ahead: number | undefined;
  const learn = async (): Promise<void> => {
    const asked = performance.now();
    const { ts } = await withRetry('to read the time', () => manager.streams.info(stream));
    const answered = performance.now();
    const time = Date.parse(ts ?? '');
    if (answered - asked <= SLOWEST_MS && !Number.isNaN(time)) ahead = time - (asked + answered) / 2;
  };
  const learnAgain = () => void learn().catch(() => {});

  for (let tries = 1; ahead === undefined; tries++) {
    await learn().catch((error: unknown) => {
      if (!isNatsNotFound(error) || tries === TRIES) throw error;
    });
    if (ahead !== undefined) break;
    if (tries === TRIES) throw new Error(`the time of NATS could not be read in ${TRIES} tries`);
    await pause(PAUSE_MS);
  }
  const known = () => ahead ?? Number.NaN;
  const timer = setInterval(learnAgain, ASK_MS);
  const unsubscribe = onReconnect(learnAgain);
  return {
    now: () => Math.round(performance.now() + known()),
    close() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}
