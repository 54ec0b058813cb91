/** The API server's time, as its answers tell it: what it stamps on objects is compared with this, never with the clock of this machine. */

export interface ServerClock {
  /** Ms since the epoch, right to within a second; before the first answer this machine's own. */
  now(): number;
  /**
   * An answer came in.
   * @param date its header of that name @param asked when the question was sent @param answered when the answer's head was here, by `steady`
   */
  learn(date: string | undefined, asked: number, answered: number): void;
}

/** The header has whole seconds, cut off (RFC 9110, 5.6.7), ms. */
const CUT_MS = 1_000;
/** Two clocks drift apart by no more than this (100 ppm: quartz at its worst). */
const DRIFT = 1e-4;

/** How far the server's clock is ahead of `steady`, ms: somewhere between the two. */
interface Ahead {
  readonly least: number;
  readonly most: number;
  /** By `steady`. */
  readonly at: number;
}

/** @param steady ms, of any beginning: a clock that nobody sets */
export function serverClock(steady: () => number = () => performance.now()): ServerClock {
  let ahead: Ahead | undefined;
  return {
    now: () => (ahead === undefined ? Date.now() : Math.round(steady() + (ahead.least + ahead.most) / 2)),
    learn(date, asked, answered) {
      const time = Date.parse(date ?? '');
      if (Number.isNaN(time)) return;
      const heard: Ahead = { least: time - answered, most: time + CUT_MS - asked, at: answered };
      ahead = ahead === undefined ? heard : narrowed(ahead, heard);
    },
  };
}

/** What both say; where they contradict each other somebody has set the server's clock, or it is another server: the later counts. */
function narrowed(before: Ahead, heard: Ahead): Ahead {
  const drift = Math.max(0, heard.at - before.at) * DRIFT;
  const least = Math.max(heard.least, before.least - drift);
  const most = Math.min(heard.most, before.most + drift);
  return least <= most ? { least, most, at: heard.at } : heard;
}
