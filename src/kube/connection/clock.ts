/** The API server's time, from the Date header of its responses: compare timestamps on objects with this, never with this machine's clock. */

export interface ServerClock {
  /** Ms since the epoch, accurate to one second; before the first response, this machine's clock. */
  now(): number;
  /**
   * To be called for each response.
   * @param date its Date header @param asked when the request was sent @param answered when the response head arrived, both by `steady`
   */
  learn(date: string | undefined, asked: number, answered: number): void;
}

/** The header is truncated to whole seconds (RFC 9110, 5.6.7), ms. */
const CUT_MS = 1_000;
/** The most by which two clocks drift apart (100 ppm: quartz at its worst). */
const DRIFT = 1e-4;

/** How far the server's clock is ahead of `steady`, ms: between `least` and `most`. */
interface Ahead {
  readonly least: number;
  readonly most: number;
  /** When it was measured, by `steady`. */
  readonly at: number;
}

/** @param steady a monotonic clock, ms from any origin */
export function serverClock(steady: () => number = () => performance.now()): ServerClock {
  let ahead: Ahead | undefined;
  return {
    now: () => (ahead === undefined ? Date.now() : Math.round(steady() + (ahead.least + ahead.most) / 2)),
    learn(date, asked, answered) {
      const time = Date.parse(date ?? '');
      if (Number.isNaN(time)) return;
      const measured: Ahead = { least: time - answered, most: time + CUT_MS - asked, at: answered };
      ahead = ahead === undefined ? measured : narrowed(ahead, measured);
    },
  };
}

/** The range that both allow. If they contradict each other, the server's clock was set or it is another server: the later one counts. */
function narrowed(before: Ahead, measured: Ahead): Ahead {
  const drift = Math.max(0, measured.at - before.at) * DRIFT;
  const least = Math.max(measured.least, before.least - drift);
  const most = Math.min(measured.most, before.most + drift);
  return least <= most ? { least, most, at: measured.at } : measured;
}
