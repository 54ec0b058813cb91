/** More workers, as many as are missing and the capacity has room for, each in a slot of its own. */
import { type Action, isComing, isLive, isServing, type Seen } from './seen.ts';

export function grow(seen: Seen, wanted: number): readonly Action[] {
  const { workers, foreignSlots, pool, backOff } = seen;
  const missing = wanted - workers.filter(isServing).length;
  const room = pool.capacity - workers.filter(isLive).length;
  // After failures one goes ahead, and the others follow when it has come up.
  const trials = backOff === undefined ? missing : 1 - workers.filter((worker) => worker.current && isComing(worker)).length;
  const count = Math.min(missing, room, trials);
  if (count <= 0) return [];
  return [{ do: 'create', slots: freeSlots([...workers.map(({ slot }) => slot), ...foreignSlots], count) }];
}

/**
 * The lowest that no Job is known to bear. A slot is a Job's name, and two Jobs cannot have the same. How many these are is decided here;
 * which of them are free and whether there is room, caches being behind, is looked up again when the Jobs are made.
 */
function freeSlots(taken: readonly number[], count: number): number[] {
  const used = new Set(taken);
  const free: number[] = [];
  for (let slot = 0; free.length < count; slot++) if (!used.has(slot)) free.push(slot);
  return free;
}
