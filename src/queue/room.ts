/** Whether a pool's queue is full, checked before each request is received: a cheap hint, as the queue itself decides in the end. */
import { shareReading } from '../streams/share-reading.ts';

export interface Room {
  /** False if the queue cannot be asked. */
  isFull(pool: string): Promise<boolean>;
}

/** How long each answer is reused, ms. An outdated `room` does no harm; an outdated `full` turns a client away. */
interface Reuse {
  readonly roomMs: number;
  readonly fullMs: number;
}

/** @param look asks the queue; if it fails, the queue counts as not full @returns concurrent checks share one call of `look` */
export function roomOver(look: (pool: string) => Promise<boolean>, { roomMs, fullMs }: Reuse): Room {
  const answers = new Map<string, () => Promise<boolean>>();
  const ask = (pool: string) =>
    shareReading(
      () => look(pool).catch(() => false),
      (isFull) => (isFull ? fullMs : roomMs),
    );
  return { isFull: (pool) => answers.getOrInsertComputed(pool, ask)() };
}
