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
  /** @param key of the resource @returns undefined if it may submit now */
  wait(namespace: string, key: string): Wait | undefined;
  /** @returns ends the turn, and wakes the resource that has waited longest */
  take(namespace: string, key: string): () => void;
  /** It waits no longer: it was deleted. */
  forget(namespace: string, key: string): void;
  /** Blocks the namespace: a request before this ends would count towards a ban. */
  hold(namespace: string, ms: number, refusal: Refusal): void;
}

/**
 * How long a resource waits before it asks again by itself, for each resource that waits, ms. Usually the end of a turn wakes one resource: this is
 * for the case that the woken one does not take its turn. An admission takes milliseconds, with a slow source 2.5 s.
 */
const EACH_WAITS_MS = 200;
const LONGEST_WAIT_MS = 3_000;

/** @param clock ms, from any start @param wake has the resource of a key reconciled */
export function newJobTurns(clock: () => number, wake: (key: string) => void): JobTurns {
  const taken = new Set<string>();
  /** By namespace, the keys of those that wait, the first first. */
  const waiting = new Map<string, Set<string>>();
  const forget = (namespace: string, key: string) => {
    const keys = waiting.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) waiting.delete(namespace);
  };
  const held = new Map<string, { readonly until: number; readonly refusal: Refusal }>();
  return {
    wait(namespace, key) {
      if (taken.has(namespace)) {
        const keys = waiting.get(namespace) ?? new Set();
        waiting.set(namespace, keys.add(key));
        return { ms: Math.min(LONGEST_WAIT_MS, EACH_WAITS_MS * keys.size) };
      }
      const hold = held.get(namespace);
      if (hold === undefined) return undefined;
      if (hold.until > clock()) return { ms: hold.until - clock(), refusal: hold.refusal };
      held.delete(namespace);
      return undefined;
    },
    take(namespace, key) {
      taken.add(namespace);
      forget(namespace, key);
      return () => {
        taken.delete(namespace);
        const [next] = waiting.get(namespace) ?? [];
        if (next === undefined) return;
        forget(namespace, next);
        wake(next);
      };
    },
    forget,
    hold: (namespace, ms, refusal) => void held.set(namespace, { until: clock() + ms, refusal }),
  };
}
