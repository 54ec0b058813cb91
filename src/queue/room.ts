/** Whether a pool's queue is full, checked before each request is received: a cheap hint, as the queue itself decides in the end. */

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
  const answers = new Map<string, { readonly answer: Promise<boolean>; until: number }>();
  return {
    isFull(pool) {
      const known = answers.get(pool);
      if (known !== undefined && performance.now() < known.until) return known.answer;
      const answer = look(pool).catch(() => false);
      const begun = { answer, until: Number.POSITIVE_INFINITY };
      answers.set(pool, begun);
      void answer.then((isFull) => {
        begun.until = performance.now() + (isFull ? fullMs : roomMs);
      });
      return answer;
    },
  };
}
