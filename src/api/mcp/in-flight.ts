/** Calls that are being answered: a client of the older versions cancels one by a message of its own, which names only the call's id. */
import type { Client } from '../../limits/client.ts';
import type { Id } from './refusal.ts';

export interface InFlight {
  /** @returns the end of it */
  add(caller: string, cancelled: () => void): () => void;
  /** Several callers that cannot be told apart stay as they are: a message to cancel may be ignored (specification, "Cancellation"). */
  cancel(caller: string): void;
}

export function inFlight(): InFlight {
  const calls = new Map<string, Set<() => void>>();
  return {
    add(caller, cancelled) {
      const same = calls.get(caller) ?? new Set();
      calls.set(caller, same.add(cancelled));
      return () => {
        same.delete(cancelled);
        if (same.size === 0) calls.delete(caller);
      };
    },
    cancel(caller) {
      const same = [...(calls.get(caller) ?? [])];
      if (same.length === 1) same[0]?.();
    },
  };
}

/** Without sessions a caller is an address, a program and an id. Where many people share an address, nobody is sure enough. */
export const callerOf = ({ key, multiple }: Client, program: string | undefined, id: Id): string | undefined =>
  multiple > 1 || id === null ? undefined : JSON.stringify([key, program ?? '', id]);
