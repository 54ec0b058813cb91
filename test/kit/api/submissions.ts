/** Asks any API replica what the controller asks of it. */
import { SubmissionAnswer, type SubmissionQuestion, submissionSubjects } from '../../../src/contracts/messages/submission.ts';
import type { Nats } from '../../../src/nats/connection.ts';
import { question } from '../../../src/nats/requests.ts';

export async function askSubmission(nats: Nats, kind: SubmissionQuestion, about: object): Promise<SubmissionAnswer> {
  return SubmissionAnswer.parse(JSON.parse(await question(nats, submissionSubjects[kind], JSON.stringify(about))));
}
