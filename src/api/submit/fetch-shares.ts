/** Limits concurrent fetches of sources: namespaces share the places, so that none of them ever holds all. */

export interface SourceShares {
  /** @returns a function that frees the place; undefined where the namespace has its share, or no place is free */
  take(namespace: string): (() => void) | undefined;
}

/**
 * A namespace may hold at most as many places as are free: alone half of them, two a quarter each, and one is left for a newcomer
 * until the sixth or so (dynamic thresholds: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998).
 */
export function sourceShares(places: number): SourceShares {
  const held = new Map<string, number>();
  let free = places;
  return {
    take(namespace) {
      const mine = held.get(namespace) ?? 0;
      if (mine >= free) return undefined;
      held.set(namespace, mine + 1);
      free--;
      let isFreed = false;
      return () => {
        if (isFreed) return;
        isFreed = true;
        free++;
        const rest = (held.get(namespace) ?? 1) - 1;
        if (rest === 0) held.delete(namespace);
        else held.set(namespace, rest);
      };
    },
  };
}
