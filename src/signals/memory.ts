/** Signals within one process. */
import { EventEmitter } from 'node:events';
import type { Signals } from './signals.ts';

export function memorySignals(): Signals {
  const progress = new Map<string, number>();
  const cancels = new EventEmitter().setMaxListeners(0);
  const risen = new EventEmitter().setMaxListeners(0);
  const listen = (emitter: EventEmitter, jobId: string, callback: () => void) => {
    emitter.on(jobId, callback);
    return () => void emitter.off(jobId, callback);
  };
  return {
    progress(jobId, percent) {
      const before = progress.get(jobId);
      // Engines estimate: what a client sees never falls.
      const now = Math.max(before ?? 0, Math.min(99, Math.max(0, Math.floor(percent))));
      progress.set(jobId, now);
      if (now !== before) risen.emit(jobId);
    },
    lastProgress: (jobId) => progress.get(jobId),
    onProgress: (jobId, callback) => listen(risen, jobId, callback),
    leave: () => {},
    ended: (jobId) => void progress.delete(jobId),
    cancel(jobId) {
      // Its worker reports no more progress after this.
      cancels.emit(jobId);
      progress.delete(jobId);
    },
    onCancel: (jobId, callback) => listen(cancels, jobId, callback),
  };
}
