/** What a pool's workers should become, from what is seen of it: no I/O, no clock of its own. */
import { desired } from './desired.ts';
import { grow } from './grow.ts';
import { guard } from './guard.ts';
import { hold } from './hold.ts';
import { roll } from './roll.ts';
import type { Action, Decision, Hold, Seen } from './seen.ts';
import { shrink } from './shrink.ts';
import { tidy } from './tidy.ts';

export function decide(seen: Seen): Decision {
  const wanted = seen.demand === undefined ? undefined : Math.max(firstWords(seen), desired(seen.pool, seen.demand, seen.serviceMs));
  const held = hold(seen);
  return { actions: [...tidy(seen), ...guard(seen), ...scale(seen, wanted, held)], desired: wanted, hold: held };
}

/** The first that wants something decides: growing comes first, so that what is rolled has been replaced. */
function scale(seen: Seen, wanted: number | undefined, held: Hold | undefined): readonly Action[] {
  if (wanted === undefined || held === 'Paused') return [];
  if (held !== undefined) return [...shrink(seen, wanted), ...roll(seen, true)];
  for (const actions of [grow(seen, wanted), shrink(seen, wanted), roll(seen, seen.backOff !== undefined)])
    if (actions.length > 0) return actions;
  return [];
}

/** A pool that nobody knows the engines of gets no orders, and so would never get a worker: one comes to tell. Or to tell that trouble is over. */
const firstWords = ({ pool, enginesKnown, backOff }: Seen): number =>
  enginesKnown && backOff === undefined ? 0 : Math.min(1, pool.capacity);
