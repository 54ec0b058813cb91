/** What the controller asks the API about a ConversionJob. */
import type { SubmissionAnswer, SubmissionQuestion } from '../../contracts/messages/submission.ts';
import type { ConversionJobObject } from './resource.ts';

/** @returns the refusal `OVERLOADED`, made here, if no API replica can be reached */
export type Ask = (kind: SubmissionQuestion, job: ConversionJobObject, more?: More) => Promise<SubmissionAnswer>;

/** Sent in addition to the resource itself. */
export interface More {
  /** `SubmissionSecrets`. */
  readonly encrypted?: string | undefined;
  /** Number of the upload's attempt, from 1 on. */
  readonly attempt?: number;
}

/** Whether nothing is left to cancel: it was cancelled, or asking again would get the same refusal. @param answer to `cancel` */
export const isCancelled = (answer: SubmissionAnswer): boolean =>
  'cancelled' in answer || ('error' in answer && !answer.error.details.retryable);
