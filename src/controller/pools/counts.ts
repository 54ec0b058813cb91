/** A pool's workers in figures, the same wherever they are told. */
import { isLive, type Worker } from './seen.ts';

/** One that drains is still at its last orders: busy. */
export const countsOf = (workers: readonly Worker[]) => ({
  // A Job that Kubernetes makes no pod of works as little as one that has ended.
  workers: workers.filter((worker) => isLive(worker) && worker.pod !== undefined).length,
  idle: workers.filter(({ state }) => state === 'idle').length,
  busy: workers.filter(({ state }) => state === 'busy' || state === 'draining').length,
});
