/** Whose bytes are parsed next: in one turn of the event loop all connections together get a slice of time, and clients take turns. */

/** How long the connections may keep one turn of the event loop, ms. What was begun ends: a turn lasts longer by that. */
const SLICE_MS = 8;

export interface ConnectionTurns {
  /** Whether work may begin, or go on, in this turn of the event loop: no other connection waits, and the slice is not used up. */
  isFree(): boolean;
  /** Whether this turn's slice is used up, for work that had to wait for it. */
  isOver(): boolean;
  /** Calls back in a later turn of the event loop, when it is this client's. */
  wait(client: string, begin: () => void): void;
}

export function newConnectionTurns(now: () => number = () => performance.now()): ConnectionTurns {
  /** By client, in the order in which they get a turn. */
  const waiting = new Map<string, (() => void)[]>();
  let sliceEnds: number | undefined;

  const isOver = () => {
    if (sliceEnds === undefined) {
      sliceEnds = now() + SLICE_MS;
      // Immediates run once in each turn of the event loop, in the order in which they were asked for: those that wait come after this one.
      setImmediate(() => {
        sliceEnds = undefined;
      });
      return false;
    }
    return now() >= sliceEnds;
  };

  const give = () => {
    if (isOver()) return void setImmediate(give);
    const [next] = waiting;
    if (next === undefined) return;
    const [client, begins] = next;
    waiting.delete(client);
    const begin = begins.shift();
    // Behind all others, whatever else it waits for.
    if (begins.length > 0) waiting.set(client, begins);
    begin?.();
  };

  return {
    isFree: () => waiting.size === 0 && !isOver(),
    isOver,
    wait(client, begin) {
      const begins = waiting.get(client) ?? [];
      begins.push(begin);
      waiting.set(client, begins);
      setImmediate(give);
    },
  };
}
