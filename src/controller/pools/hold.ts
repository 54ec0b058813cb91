/** Whether the number of workers must stay as it is, and why. */
import type { Hold, Seen } from './seen.ts';

export function hold({ now, pool, demand, workers, backOff }: Seen): Hold | undefined {
  if (pool.paused) return 'Paused';
  if (demand === undefined) return 'QueueUnknown';
  if (backOff !== undefined && now < backOff.until) return backOff.why;
  // More pods would wait for the same nodes, images and quota: an autoscaler of nodes reacts to one as to many.
  return workers.find(({ state }) => state === 'stuck')?.trouble;
}
