/** Answers the controller's requests, in a queue group with the other replicas. */

import type { ApiDeps } from '../../api/deps.ts';
import { submissionsTo } from '../../api/submissions/submissions.ts';
import { type SubmissionQuestion, submissionSubjects } from '../../contracts/messages/submission.ts';
import type { Nats } from '../../nats/connection.ts';
import { answer } from '../../nats/requests.ts';
import { onAbort } from '../../streams/abort.ts';

/**
 * A replica that stops leaves new work to the others: it would refuse it, for as long as its transfers go on.
 * @param base the start of links @returns unsubscribe; call it once `stopping` is aborted: it resolves when what was begun is done
 */
export function answerSubmissions(nats: Nats, deps: ApiDeps, base: () => string): () => Promise<void> {
  const { answers, idle } = submissionsTo(deps, base);
  const serve = (...kinds: readonly SubmissionQuestion[]) => {
    const subscriptions = kinds.map((kind) => answer(nats, submissionSubjects[kind], answers[kind]));
    return () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    };
  };
  onAbort(deps.service.stopping, serve('convert', 'upload'));
  const unsubscribe = serve('look', 'cancel');
  return async () => {
    unsubscribe();
    await idle();
  };
}
