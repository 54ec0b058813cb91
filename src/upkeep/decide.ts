/** What is to be done about one job: no I/O, no clock of its own. */
import { cutOffMove } from './cut-off-move.ts';
import { expiry } from './expiry.ts';
import { leftovers } from './leftovers.ts';
import { lostOrder } from './lost-order.ts';
import { queueTimeout } from './queue-timeout.ts';
import type { Action, Seen } from './seen.ts';

/** Checked in order: the first that speaks decides, and the next run sees what is then left to do. */
const CHECKS = [expiry, queueTimeout, cutOffMove, lostOrder, leftovers] as const;

export function decide(seen: Seen): Action | undefined {
  for (const check of CHECKS) {
    const action = check(seen);
    if (action !== undefined) return action;
  }
  return undefined;
}
