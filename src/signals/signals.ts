/** Hints between processes: they may be late, doubled or lost, and nothing that must hold is built on them. */

export interface Signals {
  /** @param percent 0 to 99 */
  progress(jobId: string, percent: number): void;
  /** The last progress heard of a job, if any. */
  lastProgress(jobId: string): number | undefined;
  /** Calls back when progress was heard. @returns unsubscribe */
  onProgress(jobId: string, callback: () => void): () => void;
  /** Says no more of a job that this process works on no longer: perhaps another does. */
  leave(jobId: string): void;
  /** Forgets a job that has ended. */
  ended(jobId: string): void;
  /** Asks whoever runs this job to stop at once. */
  cancel(jobId: string): void;
  /** @returns unsubscribe */
  onCancel(jobId: string, callback: () => void): () => void;
}
