/** Signals within one process. */
import { EventEmitter } from 'node:events';
import type { Signals } from './signals.ts';

export function memorySignals(): Signals {
  const progress = new Map<string, number>();
  const cancels = new EventEmitter().setMaxListeners(0);
  return {
    progress(jobId, percent) {
      // Engines estimate: what a client sees never falls.
      progress.set(jobId, Math.max(progress.get(jobId) ?? 0, Math.min(99, Math.max(0, Math.floor(percent)))));
    },
    lastProgress: (jobId) => progress.get(jobId),
    ended: (jobId) => void progress.delete(jobId),
    cancel: (jobId) => void cancels.emit(jobId),
    onCancel(jobId, callback) {
      cancels.on(jobId, callback);
      return () => void cancels.off(jobId, callback);
    },
  };
}
