/** Asks the API over NATS: whichever replica answers. */
import { SUBMISSION_VERSION, SubmissionAnswer, type SubmissionQuestion, submissionSubjects } from '../../contracts/messages/submission.ts';
import { Failure } from '../../errors.ts';
import type { Nats } from '../../nats/connection.ts';
import { question } from '../../nats/requests.ts';
import type { ConversionJobObject } from './resource.ts';

/** @returns an `OVERLOADED` of our own where no replica can be reached */
export type Ask = (kind: SubmissionQuestion, job: ConversionJobObject) => Promise<SubmissionAnswer>;

export const askOver =
  (nats: Nats): Ask =>
  async (kind, job) => {
    try {
      // Once: whoever waits here keeps others from being asked about.
      const text = await question(nats, submissionSubjects[kind], JSON.stringify(wordsOf(kind, job)), 0);
      return SubmissionAnswer.parse(JSON.parse(text));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { code, retryable, retryAfter } = error;
      const message = 'The API cannot be reached: it is asked again.';
      return {
        error: { code, message, details: { request_id: '', retryable } },
        ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
      };
    }
  };

function wordsOf(kind: SubmissionQuestion, { metadata: { uid, namespace }, spec }: ConversionJobObject): object {
  const which = { version: SUBMISSION_VERSION, uid, namespace };
  const { source, toFormat, tool, options, filename } = spec;
  return kind === 'convert' ? { ...which, source, toFormat, tool, options, filename } : which;
}
