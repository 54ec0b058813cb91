/** What a replica tells workers that have claimed a job: any replica answers, for every pool. */
import { grants } from '../api/grants.ts';
import type { ApiParts } from '../api/parts.ts';
import { Claimed } from '../contracts/grant.ts';
import type { Nats } from '../nats/connection.ts';
import { answer } from '../nats/requests.ts';

const SUBJECT = 'grant.';

/** @returns the end of it */
export function answerGrants(nats: Nats, { jobs, objects, seal }: Pick<ApiParts, 'jobs' | 'objects' | 'seal'>): () => void {
  const grant = grants(jobs, objects, seal);
  // That a worker asks in its own pool's name alone, the servers see to.
  return answer(nats, `${SUBJECT}*`, async (text, subject) => {
    const { jobId, attempt } = Claimed.parse(JSON.parse(text));
    return JSON.stringify(await grant(jobId, attempt, subject.slice(SUBJECT.length)));
  });
}
