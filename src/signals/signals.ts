/** Hints between processes: they may be late, duplicated or lost, so nothing may depend on them. */

export interface Signals {
  /** @param percent 0 to 99 */
  progress(jobId: string, percent: number): void;
  /** The last known progress of a job, if any. */
  lastProgress(jobId: string): number | undefined;
  /** Calls back when the progress has risen. @returns unsubscribe */
  onProgress(jobId: string, callback: () => void): () => void;
  /** Stops publishing the progress of a job that this process no longer works on: perhaps another does. */
  leave(jobId: string): void;
  /** Forgets a job that has ended. */
  ended(jobId: string): void;
  /** Asks the worker that runs this job to stop immediately. */
  cancel(jobId: string): void;
  /** @returns unsubscribe */
  onCancel(jobId: string, callback: () => void): () => void;
}
