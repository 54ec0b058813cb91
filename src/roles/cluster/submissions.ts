/** Answers the controller's requests, in a queue group with the other replicas. */

import type { ApiDeps } from '../../api/deps.ts';
import { submissionsTo } from '../../api/submissions/submissions.ts';
import { submissionSubjects } from '../../contracts/messages/submission.ts';
import type { Nats } from '../../nats/connection.ts';
import { answer } from '../../nats/requests.ts';

/** @param base the start of links @returns unsubscribe, once `stopping` is aborted */
export function answerSubmissions(nats: Nats, deps: ApiDeps, base: () => string): () => Promise<void> {
  const { answers, idle } = submissionsTo(deps, base);
  const subscriptions = (['convert', 'look', 'cancel', 'upload'] as const).map((kind) =>
    answer(nats, submissionSubjects[kind], answers[kind]),
  );
  return async () => {
    for (const unsubscribe of subscriptions) unsubscribe();
    await idle();
  };
}
