/** How often a test looks whether something has come about. */
import { setTimeout as pause } from 'node:timers/promises';

/** Ms between two looks: soon what comes soon, and a twentieth of what has been waited for already. A look may cost both sides several ms. */
const [SOONEST_MS, LATEST_MS, SHARE] = [20, 250, 20];

/** @param since when the waiting began, by `performance.now()` */
export const untilNextLook = (since: number): Promise<void> =>
  pause(Math.min(LATEST_MS, Math.max(SOONEST_MS, (performance.now() - since) / SHARE)));
