/** More workers, as many as are missing and the capacity has room for, each in a slot of its own. */
import { type Action, isLive, isServing, type Seen } from './seen.ts';

export function grow(seen: Seen, wanted: number): readonly Action[] {
  const { workers, foreignSlots, pool } = seen;
  const missing = wanted - workers.filter(isServing).length;
  const room = pool.capacity - workers.filter(isLive).length;
  const count = Math.min(missing, room);
  if (count <= 0) return [];
  return [{ do: 'create', slots: freeSlots([...workers.map(({ slot }) => slot), ...foreignSlots], count) }];
}

/**
 * The lowest that no Job bears. A slot is a Job's name, and two Jobs cannot have the same: whatever is thought of the world by caches
 * that are behind, or by two leaders at once, no more Jobs than names can come of it.
 */
function freeSlots(taken: readonly number[], count: number): number[] {
  const used = new Set(taken);
  const free: number[] = [];
  for (let slot = 0; free.length < count; slot++) if (!used.has(slot)) free.push(slot);
  return free;
}
