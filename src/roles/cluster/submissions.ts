/** Answers the controller's requests, in a queue group with the other replicas. */

import type { ApiDeps } from '../../api/deps.ts';
import { submissionsTo } from '../../api/submissions/submissions.ts';
import { submissionSubjects } from '../../contracts/messages/submission.ts';
import type { Nats } from '../../nats/connection.ts';
import { answer } from '../../nats/requests.ts';
import { onAbort } from '../../streams/abort.ts';

/**
 * A replica that stops takes no more of them: it would refuse each, for as long as its transfers go on, and the others would not.
 * @param base the start of links @returns resolves when those that it has begun are done, once `stopping` is aborted
 */
export function answerSubmissions(nats: Nats, deps: ApiDeps, base: () => string): () => Promise<void> {
  const { answers, idle } = submissionsTo(deps, base);
  const subscriptions = (['convert', 'look', 'cancel', 'upload'] as const).map((kind) =>
    answer(nats, submissionSubjects[kind], answers[kind]),
  );
  onAbort(deps.stopping, () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  });
  return idle;
}
