/** How long the event loop of this process is held while some work runs. */

/** The longest that any input may hold it, ms. */
export const LONGEST_HOLD_MS = 50;

/** How often it is looked at, ms. */
const EVERY_MS = 5;

export interface HoldWatch {
  /** The longest time between two turns that this thread itself filled, ms. Ends the watch. */
  stop(): number;
}

/**
 * Counts the CPU time of this thread between two ticks, not the time on the clock: on a busy machine a tick is late although no code here
 * held the loop, and a collection in another thread is not ours. The turns of one gap are several where the machine was busy for longer
 * than a tick: then their sum is an upper bound, so the least of what was counted and what the clock shows is taken.
 */
export function watchHolds(): HoldWatch {
  let longest = 0;
  let cpu = process.threadCpuUsage();
  let at = performance.now();
  const look = () => {
    const { user, system } = process.threadCpuUsage(cpu);
    const now = performance.now();
    longest = Math.max(longest, Math.min((user + system) / 1000, now - at));
    cpu = process.threadCpuUsage();
    at = now;
  };
  const timer = setInterval(look, EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}
