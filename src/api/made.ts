/** The job that an earlier request made. */
import { Failure } from '../errors.ts';
import type { JobRecord } from '../jobs/record.ts';
import type { ApiParts } from './parts.ts';
import { shown } from './view.ts';

/** @throws Failure `JOB_EXPIRED`; `OVERLOADED` where the earlier request took it back in this very moment */
export async function findMade({ jobs, clock }: Pick<ApiParts, 'jobs' | 'clock'>, id: string): Promise<JobRecord> {
  const stored = await jobs.get(id);
  if (stored === undefined) throw new Failure('OVERLOADED');
  return shown(stored.record, clock());
}
