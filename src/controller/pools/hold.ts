/** Whether the number of workers must stay as it is, and why. */
import type { Hold, Seen } from './seen.ts';

export function hold({ now, pool, demand, workers, backOff }: Seen): Hold | undefined {
  if (pool.paused) return 'Paused';
  if (demand === undefined) return 'QueueUnknown';
  if (backOff !== undefined && now < backOff.until) return backOff.why;
  // More pods would wait for the same nodes, images and quota: an autoscaler of nodes reacts to one as to many.
  const stuck = workers.filter(({ state }) => state === 'stuck').flatMap(({ trouble }) => trouble ?? []);
  // Where others are heard, it is one pod that hangs.
  const isHeard = workers.some(({ state }) => state === 'idle' || state === 'busy');
  return stuck.find(({ reason }) => reason !== 'WorkersSilent' || !isHeard);
}
