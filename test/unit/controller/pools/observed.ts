/** A worker as the controller observes it: idle, at work on nothing, of the current template. */
import type { ObservedWorker, WorkerState } from '../../../../src/controller/pools/observation.ts';

export const observedWorker = (slot: number, state: WorkerState = 'idle', change: Partial<ObservedWorker> = {}): ObservedWorker => ({
  name: `filemill-image-${slot}`,
  uid: `uid-${slot}`,
  slot,
  pod: `filemill-image-${slot}-abcde`,
  state,
  current: true,
  busyMs: 0,
  guarded: false,
  ...change,
});
