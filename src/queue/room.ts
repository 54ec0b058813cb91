/** Whether a pool's queue is full, asked for each request before it is received: a hint that costs little, and the queue itself has the last word. */

export interface Room {
  /** False where it cannot be told soon. */
  isFull(pool: string): Promise<boolean>;
}

/** An answer holds for so long, ms. One that there is room does no harm when it is late; one that there is none keeps somebody away. */
interface Reuse {
  readonly roomMs: number;
  readonly fullMs: number;
}

/** @param look asks the queue; its failure says nothing @returns many questions at once are one look */
export function roomOver(look: (pool: string) => Promise<boolean>, { roomMs, fullMs }: Reuse): Room {
  const looks = new Map<string, { readonly answer: Promise<boolean>; until: number }>();
  return {
    isFull(pool) {
      const known = looks.get(pool);
      if (known !== undefined && performance.now() < known.until) return known.answer;
      const answer = look(pool).catch(() => false);
      const begun = { answer, until: Number.POSITIVE_INFINITY };
      looks.set(pool, begun);
      void answer.then((isFull) => {
        begun.until = performance.now() + (isFull ? fullMs : roomMs);
      });
      return answer;
    },
  };
}
