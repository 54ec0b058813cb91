/** Whose turn it is to submit: one resource of a namespace at a time, and none while the namespace has used up its limits. */

/** Why a resource must wait. */
export interface Wait {
  readonly ms: number;
  /** The refusal for the whole namespace; without one it is another resource's turn, which ends soon. */
  readonly refusal?: Refusal;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

export interface JobTurns {
  /** @returns undefined if it may submit now */
  wait(namespace: string): Wait | undefined;
  /** @returns ends the turn */
  take(namespace: string): () => void;
  /** Blocks the namespace: a request before this ends would count towards a ban. */
  hold(namespace: string, ms: number, refusal: Refusal): void;
}

/** An admission takes milliseconds; a slow source keeps it for 2.5 s, ms. */
const ANOTHER_HAS_IT_MS = 200;

/** @param clock ms, from any start */
export function newJobTurns(clock: () => number): JobTurns {
  const taken = new Set<string>();
  const held = new Map<string, { readonly until: number; readonly refusal: Refusal }>();
  return {
    wait(namespace) {
      if (taken.has(namespace)) return { ms: ANOTHER_HAS_IT_MS };
      const hold = held.get(namespace);
      if (hold === undefined) return undefined;
      if (hold.until > clock()) return { ms: hold.until - clock(), refusal: hold.refusal };
      held.delete(namespace);
      return undefined;
    },
    take(namespace) {
      taken.add(namespace);
      return () => void taken.delete(namespace);
    },
    hold: (namespace, ms, refusal) => void held.set(namespace, { until: clock() + ms, refusal }),
  };
}
