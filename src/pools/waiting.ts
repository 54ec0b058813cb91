/** How many orders wait in pools between which there is a choice: counted periodically, so that no request waits for it. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from './registry.ts';

const COUNT_MS = 2_000;

export interface WaitingCounts {
  /** As last counted; 0 if there is no choice, or the count failed. */
  waiting(pool: string): number;
  close(): Promise<void>;
}

/** @param count has its own time limit */
export function countOrders(
  pools: () => Iterable<Pick<Pool, 'name' | 'toolchain' | 'paused'>>,
  count: (pool: string) => Promise<number>,
): WaitingCounts {
  const closing = new AbortController();
  let counted: ReadonlyMap<string, number> = new Map();

  const counting = (async () => {
    while (!closing.signal.aborted) {
      await pause(COUNT_MS, undefined, { signal: closing.signal }).catch(() => {});
      if (closing.signal.aborted) return;
      const open = [...pools()].filter(({ paused }) => !paused);
      const choices = open.filter(({ name, toolchain }) => open.some((other) => other.name !== name && other.toolchain === toolchain));
      const now = new Map<string, number>();
      for (const { name } of choices) now.set(name, await count(name).catch(() => 0));
      counted = now;
    }
  })();
  return {
    waiting: (pool) => counted.get(pool) ?? 0,
    async close() {
      closing.abort();
      await counting;
    },
  };
}
