/** A change of a job's record that other writers may change at the same time. */
import { RevisionConflict } from '../errors.ts';
import type { JobRecord } from './record.ts';
import type { JobStore, Stored } from './store.ts';

const CAS_TRIES = 10;

/**
 * Reads, decides, writes; decides again after a revision conflict.
 * @param last the latest version known: as a rule it is still stored, which saves a read
 * @returns what is stored then; undefined when nothing was decided
 */
export async function updateRecord(
  jobs: Pick<JobStore, 'get' | 'update'>,
  id: string,
  decide: (record: JobRecord) => JobRecord | undefined,
  last?: Stored,
): Promise<Stored | undefined> {
  for (let tries = 0; tries < CAS_TRIES; tries++) {
    const stored = tries === 0 && last !== undefined ? last : await jobs.get(id);
    const next = stored === undefined ? undefined : decide(stored.record);
    if (stored === undefined || next === undefined) return undefined;
    try {
      return await jobs.update(next, stored.revision);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
  throw new Error(`the record of ${id} could not be written in ${CAS_TRIES} tries`);
}
