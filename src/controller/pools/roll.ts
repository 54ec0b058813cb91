/** Workers of an older template make room for new ones: idle ones first, and few at a time, so that the pool goes on working. */
import { type Action, isLive, type Seen, type WorkerState } from './seen.ts';

/** Share of the workers that may be on their way out, or in, at a time. */
const AT_ONCE = 0.25;
const UNDER_WAY: ReadonlySet<WorkerState> = new Set(['draining', 'leaving', 'starting']);

/** @param held whether new workers cannot come up: then the old ones are all there is */
export function roll({ workers }: Seen, held: boolean): readonly Action[] {
  const live = workers.filter(isLive);
  const outdated = live.filter(({ current }) => !current);
  // What never came up may be held up by the very thing that was changed.
  const stuck = outdated.filter(({ state }) => state === 'stuck').map((worker): Action => ({ do: 'remove', worker }));
  if (stuck.length > 0 || held) return stuck;
  const may = Math.max(1, Math.floor(live.length * AT_ONCE)) - live.filter(({ state }) => UNDER_WAY.has(state)).length;
  if (may <= 0) return [];
  const idle = outdated.filter(({ state }) => state === 'idle');
  const next = idle.length > 0 ? idle : outdated.filter(({ state }) => state === 'busy');
  return next.slice(0, may).map((worker) => ({ do: 'retire', worker }));
}
