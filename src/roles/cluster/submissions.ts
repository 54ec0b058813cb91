/** The controller's questions of this replica, which hears them as one of all that do. */

import type { ApiDeps } from '../../api/deps.ts';
import { submissionsTo } from '../../api/submissions/submissions.ts';
import { submissionSubjects } from '../../contracts/messages/submission.ts';
import type { Nats } from '../../nats/connection.ts';
import { answer } from '../../nats/requests.ts';

/** @param base what links begin with @returns unsubscribe, once `stopping` is aborted */
export function answerSubmissions(nats: Nats, deps: ApiDeps, base: () => string): () => Promise<void> {
  const { answers, idle } = submissionsTo(deps, base);
  const silence = (['convert', 'look', 'cancel', 'upload'] as const).map((kind) => answer(nats, submissionSubjects[kind], answers[kind]));
  return async () => {
    for (const end of silence) end();
    await idle();
  };
}
