/** Whether a client has several orders in a pool: the process that published them knows, and the worker that holds one asks. */
import type { Nats } from '../../nats/connection.ts';
import { answerAll, askAll } from '../../nats/requests.ts';
import { tokenOf } from '../../nats/token.ts';

const SUBJECT = 'several';
const YES = 'yes';

/** @param hasOthers whether the client of this job has another order in the pool @returns unsubscribe */
export const answerSeveral = (nats: Nats, hasOthers: (pool: string, jobId: string) => Promise<boolean>): (() => void) =>
  answerAll(nats, `${SUBJECT}.*`, async (jobId, subject) => ((await hasOthers(subject.slice(SUBJECT.length + 1), jobId)) ? YES : 'no'));

/** @returns false where no process knows: it may have restarted, or be of an older version */
export async function askSeveral(nats: Nats, pool: string, jobId: string): Promise<boolean> {
  let isOneOfSeveral = false;
  const read = (text: string) => {
    isOneOfSeveral ||= text === YES;
  };
  await askAll(nats, `${SUBJECT}.${tokenOf(pool)}`, read, { text: jobId, suffices: () => isOneOfSeveral });
  return isOneOfSeveral;
}
