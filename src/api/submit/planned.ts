/** The jobs of a request on their way to a queue: here those whose files are there; `fetching.ts` has those whose files are fetched. */
import { hasEnded } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import type { ApiDeps } from '../deps.ts';
import { deleteInputs } from '../intake/inputs.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import { enqueueAll } from './enqueue.ts';
import { fetchedJobs } from './fetching.ts';
import type { Ids, JobPlan, PlannedJobs, SubmitWork, ToFetch } from './stages.ts';

/** @throws Failure for what needs no file */
export function planJobs(deps: ApiDeps, ids: Ids, work: SubmitWork, brought: Received | ToFetch): PlannedJobs {
  if ('fetches' in brought) return fetchedJobs(deps, ids, work.plan(brought), brought);
  deps.metrics.uploaded(brought.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  return receivedJobs(deps, work.plan(brought));
}

function receivedJobs(deps: ApiDeps, plans: readonly JobPlan<ReceivedFile>[]): PlannedJobs {
  const { objects } = deps;
  return {
    ids: plans.map(({ id }) => id),
    async validate() {
      const records: JobRecord[] = [];
      // One after the other: the client reads about the first file that is refused.
      for (const plan of plans) records.push(await recordOf(plan));
      return records;
    },
    async enqueue(created) {
      const records = await enqueueAll(deps, created, created.client);
      created.keep();
      // The files that were refused are read by no worker. Where this fails, upkeep does it later.
      for (const record of records) if (hasEnded(record)) await deleteInputs(objects, record).catch(() => undefined);
      return records;
    },
  };
}

async function recordOf({ files, validate, refused }: JobPlan<ReceivedFile>): Promise<JobRecord> {
  try {
    return await validate(files);
  } catch (error) {
    if (refused === undefined) throw error;
    return await refused(files, error);
  }
}
