/** What a look at a pool teaches for the next. */
import type { Outcome } from './apply.ts';
import type { Memory } from './memory.ts';
import { type Decision, isComing, isLive, type Seen } from './seen.ts';

/** A name that something else bears is tried again after this, ms. */
const BLOCKED_MS = 30_000;

/** @param now ms since the epoch */
export function learn(memory: Memory, seen: Seen, { actions, desired }: Decision, outcome: Outcome, template: string, now: number): void {
  const { created, refused, blocked } = outcome;
  // A leader that has just begun takes what it finds for what was wanted.
  const wanted = Math.max(desired ?? 0, memory.peaks.all().length === 0 ? seen.workers.filter(isLive).length : 0);
  if (desired !== undefined) memory.peaks.note(now, wanted, seen.pool.idleMs);
  for (const slot of blocked) memory.blocked.set(slot, now + BLOCKED_MS);
  const isAtRest = !actions.some((action) => action.do === 'create') && !seen.workers.some(isComing);
  if (refused !== undefined)
    memory.jobRefusals.failed(template, now, { reason: 'JobRefused', message: `Kubernetes refuses its Jobs: ${refused}` });
  else if (created > 0) memory.jobRefusals.succeeded(template);
  // Whether it would go well now nobody tries any more.
  else if (isAtRest && seen.backOff !== undefined && now >= seen.backOff.until)
    for (const backOff of [memory.startFailures, memory.earlyDeaths, memory.jobRefusals]) backOff.succeeded(template);
}
