/** Grants over NATS: a worker that has claimed a job asks, and any replica answers, for every pool. */

import type { ApiDeps } from '../../api/deps.ts';
import { grants } from '../../api/jobs/grants.ts';
import { forwarding } from '../../api/recipes/forward.ts';
import { Claimed, GRANT_VERSION, Grant, GrantRefused, grantRefusal } from '../../contracts/messages/grant.ts';
import type { Nats } from '../../nats/connection.ts';
import { answer, hedgedAsker, RequestRefused } from '../../nats/requests.ts';

const SUBJECT = 'grant.';

/** @returns unsubscribe */
export function answerGrants(nats: Nats, deps: Pick<ApiDeps, 'jobs' | 'files' | 'catalogue'>): () => void {
  const { jobs, files } = deps;
  const forward = forwarding(deps);
  const grant = grants(jobs.store, files.objects, jobs.encryption, files.suffix);
  // The permissions of NATS let a worker ask for its own pool only.
  return answer(nats, `${SUBJECT}*`, async (text, subject) => {
    try {
      const { jobId, attempt, forward: isDone = false } = claimedIn(text);
      if (isDone) {
        await forward(jobId);
        return '';
      }
      return JSON.stringify(await grant(jobId, attempt, subject.slice(SUBJECT.length)));
    } catch (error) {
      const { code, message } = error instanceof GrantRefused ? error : new GrantRefused('unavailable', 'the replica failed');
      throw new RequestRefused(message, code, code !== 'attempt_lost', error);
    }
  });
}

function claimedIn(text: string): Claimed {
  try {
    return Claimed.parse(JSON.parse(text));
  } catch (cause) {
    throw new GrantRefused('unreadable', 'the question cannot be read here', cause);
  }
}

/** For the workers of a pool: a recipe that is done there goes on in the next. */
export function askToForward(nats: Nats, pool: string): (jobId: string) => Promise<void> {
  const ask = hedgedAsker(nats);
  return (jobId) => {
    const claimed: Claimed = { version: GRANT_VERSION, jobId, attempt: '', forward: true };
    return ask(SUBJECT + pool, JSON.stringify(claimed), () => undefined);
  };
}

/** For the workers of a pool. @returns a function that throws GrantRefused · Unavailable */
export function askForGrants(nats: Nats, pool: string): (jobId: string, attempt: string) => Promise<Grant> {
  const ask = hedgedAsker(nats);
  return async (jobId, attempt) => {
    try {
      const claimed: Claimed = { version: GRANT_VERSION, jobId, attempt };
      return await ask(SUBJECT + pool, JSON.stringify(claimed), (text) => Grant.parse(JSON.parse(text)));
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      throw new GrantRefused(error.isTransient ? transient(error.code) : 'attempt_lost', error.message, error);
    }
  };
}

/** An error that the replica called transient stays so, whatever its code. */
function transient(code: string) {
  const known = grantRefusal(code);
  return known === 'attempt_lost' ? 'unavailable' : known;
}
