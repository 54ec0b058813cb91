/** The controller's questions of this replica, which hears them as one of all that do. */

import type { ApiParts } from '../api/parts.ts';
import { submissionsTo } from '../api/submission.ts';
import { submissionSubjects } from '../contracts/submission.ts';
import type { Nats } from '../nats/connection.ts';
import { answer } from '../nats/requests.ts';

/** @param base what links begin with @returns the end of it, once `stopping` is aborted */
export function answerSubmissions(nats: Nats, parts: ApiParts, base: () => string): () => Promise<void> {
  const { answers, idle } = submissionsTo(parts, base);
  const silence = (['convert', 'look', 'cancel'] as const).map((kind) => answer(nats, submissionSubjects[kind], answers[kind]));
  return async () => {
    for (const end of silence) end();
    await idle();
  };
}
